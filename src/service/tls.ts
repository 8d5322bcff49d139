import { createSecureContext } from 'node:tls';
import { FileSource, readCertificates, readConfiguredFile } from '../net/index.ts';
import { errorMessage, invalidConfiguration } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { repeat } from '../time/index.ts';

/**
 * The files of a server certificate, PEM.
 * @example
 * const tls: TlsFiles = {
 *   certificate: '/etc/legate/tls.crt',
 *   key: '/etc/legate/tls.key',
 *   ca: '/etc/legate/partners.pem',
 *   requireClientCertificate: true,
 * };
 */
export interface TlsFiles {
  /** The file of the certificate, PEM; read again when it changes. */
  readonly certificate: string;
  /** The file of its private key, PEM. */
  readonly key: string;
  /** Authorities of client certificates. If set, the server requests a client certificate. */
  readonly ca?: string;
  /** The password of the private key. */
  readonly password?: string;
  /** Refuses connections without a valid client certificate. @default false */
  readonly requireClientCertificate?: boolean;
}

/** How often the files are checked, in milliseconds. */
const interval = 2_000;

/** Reads the files as options of TLS. Throws `CONFIGURATION_INVALID` for files that can't be used. */
export function readTls(files: TlsFiles) {
  const context = {
    cert: readCertificates(files.certificate, 'the TLS certificate'),
    key: readConfiguredFile(files.key, 'the TLS key'),
    ...(files.ca !== undefined && {
      ca: readCertificates(files.ca, 'the TLS certificate authority'),
    }),
    ...(files.password !== undefined && { passphrase: files.password }),
    minVersion: 'TLSv1.2' as const,
  };
  try {
    createSecureContext(context);
  } catch (cause) {
    throw invalidConfiguration(
      `the TLS certificate ${files.certificate} cannot be used with the key ${files.key}: ` +
        `${errorMessage(cause)}; check that they belong together, and the password of the key`,
      cause,
    );
  }
  return context;
}

/**
 * Calls `apply` whenever the files change, until the returned function is called. Connections stay open.
 * Files that can't be used are logged, and the previous ones stay in use.
 */
export function watchTls(
  files: TlsFiles,
  logger: Logger,
  apply: (context: ReturnType<typeof readTls>) => void,
): () => void {
  const { certificate, key, ca } = files;
  const source = new FileSource({
    what: 'tls certificate',
    paths: [certificate, key, ...(ca === undefined ? [] : [ca])],
    load: () => readTls(files),
    onReload: apply,
    logger,
  });
  const look = async (): Promise<void> => void (await source.check());
  const onError = (error: unknown): void => logger.error({ error }, 'files.reload_failed');
  const looking = repeat(interval, look, { onError });
  return () => looking.stop();
}
