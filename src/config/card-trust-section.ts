import type { Section } from './field.ts';
import { type KeyAccess, readKeyAccess } from './key-access-section.ts';

/**
 * `verify_card:` of a configuration: the keys that must have signed the card of an agent.
 * @example const trust: CardTrust = { keys: ['partner.pem'] };
 */
export interface CardTrust extends KeyAccess {
  /** Files of public keys or certificates (PEM), or of key sets (JWKS), read again when they change. */
  readonly keys?: readonly string[] | undefined;
  /** The URL of a key set. */
  readonly jwksUrl?: string | undefined;
}

/** Reads `verify_card: {keys, jwks_url}`, and how to fetch the keys of `jwks_url`. */
export function readCardTrust(section: Section): CardTrust | undefined {
  const keys = (section.get('keys')?.oneOrMore() ?? []).flatMap((field) => field.name() ?? []);
  const jwksUrl = section.name('jwks_url');
  const access = readKeyAccess(section);
  // Without a key no card can be verified. This is an error: it must never mean that any card is accepted.
  if (keys.length > 0 || jwksUrl !== undefined) return { keys, jwksUrl, ...access };
  section.field.keyError('"keys" or "jwks_url" is missing', {
    hint: 'keys: files with public keys, PEM or JWKS; jwks_url: where they are published',
  });
  return undefined;
}
