import { LegateError } from '../protocol/index.ts';

/**
 * What a refused caller is told.
 * @example
 * const options: ChallengeOptions = {
 *   realm: 'orders',
 *   error: 'insufficient_scope',
 *   scopes: ['orders:read', 'orders:write'], // scope="orders:read orders:write"
 * };
 */
export interface ChallengeOptions {
  readonly realm: string;
  /** RFC 6750: left out when the request carried no credential at all. */
  readonly error?: 'invalid_token' | 'insufficient_scope';
  readonly scopes?: readonly string[];
  /** The address of the protected resource's metadata (RFC 9728). */
  readonly resourceMetadata?: string;
}

/**
 * One value of `WWW-Authenticate`.
 * @example challenge('Bearer', { realm: 'legate', error: 'invalid_token' })
 */
export function challenge(scheme: string, options: ChallengeOptions): string {
  const { realm, error, scopes, resourceMetadata } = options;
  const parameters = [`realm=${quote(realm)}`];
  if (scheme === 'Bearer') {
    if (error !== undefined) parameters.push(`error=${quote(error)}`);
    if (scopes !== undefined && scopes.length > 0) {
      parameters.push(`scope=${quote(scopes.join(' '))}`);
    }
    if (resourceMetadata !== undefined) {
      parameters.push(`resource_metadata=${quote(resourceMetadata)}`);
    }
  }
  return `${scheme} ${parameters.join(', ')}`;
}

function quote(value: string): string {
  if (!/^[\x20-\x7e]*$/.test(value)) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `${JSON.stringify(value)} cannot stand in a WWW-Authenticate header; use printable ASCII`,
    );
  }
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
