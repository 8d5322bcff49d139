import { readAllowedNames } from './allowed-names.ts';
import { type ClientTlsFiles, readClientTls } from './client-tls-section.ts';
import type { Section } from './field.ts';

/**
 * How public keys are fetched from a URL.
 * @example const access: KeyAccess = { tls: { ca: 'ca.pem' }, allowedNames: ['*.svc.cluster.local'] };
 */
export interface KeyAccess {
  /** Authorities to trust, and a client certificate. */
  readonly tls?: ClientTlsFiles | undefined;
  /** Hosts from which keys can also be fetched over http. */
  readonly allowedNames?: readonly string[] | undefined;
}

/**
 * Reads `tls` and `allowed_names`, the keys beside the URL of public keys.
 * @example const access = readKeyAccess(jwtSection);
 */
export function readKeyAccess(section: Section): KeyAccess {
  return {
    tls: section.mapping('tls', readClientTls),
    allowedNames: readAllowedNames(section.get('allowed_names')),
  };
}
