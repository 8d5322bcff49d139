import type { Section } from './field.ts';

/**
 * Files for TLS connections that this process makes, PEM. They are read again when they change.
 * @example
 * const tls: ClientTlsFiles = {
 *   ca: '/run/secrets/ca.pem', cert: '/run/secrets/client.pem', key: '/run/secrets/client.key',
 * };
 */
export interface ClientTlsFiles {
  /** Certificate authorities to trust instead of those of Node. */
  readonly ca?: string | undefined;
  /** The client certificate with its chain, for servers that request one. */
  readonly cert?: string | undefined;
  /** Its private key. @default the file of the certificate */
  readonly key?: string | undefined;
  /** The passphrase of an encrypted private key. */
  readonly passphrase?: string | undefined;
}

/**
 * Reads `tls:` for calls to a server: `ca`, `cert`, `key` and `passphrase`.
 * @example const files = readClientTls(tlsSection);
 */
export function readClientTls(section: Section): ClientTlsFiles | undefined {
  const files = {
    ca: section.name('ca'),
    cert: section.name('cert'),
    key: section.name('key'),
    passphrase: section.secret('passphrase'),
  };
  if (files.cert === undefined && files.key !== undefined) {
    section.get('key')?.keyError('"cert" is missing', { hint: 'name the certificate of the key' });
  }
  if (files.ca !== undefined || files.cert !== undefined) return files;
  section.field.keyError('"ca" or "cert" is missing', {
    hint: 'ca: authorities to trust; cert and key: the client certificate',
  });
  return undefined;
}
