import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { LegateError } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';

/**
 * Where the certificate and what belongs to it are kept, as PEM.
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
  /** Authorities of client certificates; given, clients are asked for one. */
  readonly ca?: string;
  /** Of the private key. */
  readonly password?: string;
  /** Refuses connections without a valid client certificate. @default false */
  readonly requireClientCertificate?: boolean;
}

/** How often the files are looked at, in milliseconds. */
const interval = 2_000;

/** What the files say, as TLS takes it. Throws `CONFIGURATION_INVALID` for files it cannot use. */
export function readTls(files: TlsFiles) {
  const context = {
    cert: read(files.certificate, 'certificate'),
    key: read(files.key, 'key'),
    ...(files.ca !== undefined && { ca: read(files.ca, 'certificate authority') }),
    ...(files.password !== undefined && { passphrase: files.password }),
    minVersion: 'TLSv1.2' as const,
  };
  try {
    createSecureContext(context);
  } catch (cause) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `the TLS certificate ${files.certificate} cannot be used with the key ${files.key}: ` +
        `${messageOf(cause)}; check that they belong together, and the password of the key`,
      { cause },
    );
  }
  return context;
}

/**
 * Applies the files again whenever they change, until the function that is returned is called.
 * Connections stay open. Files that cannot be used are reported, and the former ones stay in use.
 */
export function watchTls(
  files: TlsFiles,
  logger: Logger,
  apply: (context: ReturnType<typeof readTls>) => void,
): () => void {
  const { certificate, key, ca } = files;
  const paths = [certificate, key, ...(ca === undefined ? [] : [ca])];
  const reload = (): void => {
    try {
      apply(readTls(files));
      logger.info({ audit: 'action', certificate }, 'tls.reloaded');
    } catch (error) {
      // Between the new certificate and its new key this is nothing unusual.
      logger.error({ audit: 'action', error: messageOf(error), certificate }, 'tls.reload_failed');
    }
  };
  for (const path of paths) watchFile(path, { interval, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}

function read(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new LegateError('CONFIGURATION_INVALID', `the TLS ${what} cannot be read: ${path}`, {
      cause,
    });
  }
}
