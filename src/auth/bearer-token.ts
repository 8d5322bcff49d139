import { LegateError } from '../protocol/index.ts';
import { bearerToken, CredentialRefused } from './auth-request.ts';
import { digestOf } from './secrets.ts';
import { checkIdentity, type Identity, toCaller, type Verifier } from './verifier.ts';

/**
 * Which tokens hold, and for whom.
 * @example
 * const options: BearerTokenOptions = {
 *   tokens: [{ token: process.env.CI_TOKEN ?? '', subject: 'ci' }], // unset: refused at the start
 * };
 */
export interface BearerTokenOptions {
  /** Each token with the identity it stands for. */
  readonly tokens: readonly (Identity & { readonly token: string })[];
  /** In the card. @default 'token' */
  readonly schemeName?: string;
}

/**
 * Accepts fixed tokens in `Authorization: Bearer`.
 * @example bearerTokenVerifier({ tokens: [{ token: process.env.TOKEN ?? '', subject: 'orchestrator' }] })
 */
export function bearerTokenVerifier(options: BearerTokenOptions): Verifier {
  const entries = options.tokens.map(({ token, ...identity }) => {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        `the bearer token of ${identity.subject} must be printable ASCII without spaces`,
      );
    }
    checkIdentity(identity, 'bearer token');
    return [digestOf(token), toCaller('bearer-token', identity)] as const;
  });
  const known = new Map(entries);
  return {
    method: 'bearer-token',
    challenge: 'Bearer',
    schemes: { [options.schemeName ?? 'token']: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    async verify(request) {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const caller = known.get(digestOf(token));
      if (caller === undefined) throw new CredentialRefused('unknown token');
      return caller;
    },
  };
}
