import { readFileSync, watchFile, unwatchFile } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { RequestListener, ServerOptions } from 'node:http';
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

export interface TlsReloader {
  readonly server: Server;
  stop(): void;
}

/** How long a client may take to agree on keys, in milliseconds. */
const handshakeTimeout = 10_000;
/** How often the files are looked at, in milliseconds. */
const interval = 2_000;

/**
 * An HTTPS server whose certificate is read again when its files change; connections stay open. Files
 * that cannot be used are reported, and the former certificate stays in use.
 */
export function tlsServer(
  files: TlsFiles,
  listener: RequestListener,
  logger: Logger,
  options: ServerOptions,
): TlsReloader {
  const server = createServer(
    {
      ...usableContext(files),
      requestCert: files.ca !== undefined,
      rejectUnauthorized: files.requireClientCertificate === true,
      handshakeTimeout,
      ...options,
    },
    listener,
  );
  const paths = [files.certificate, files.key, ...(files.ca === undefined ? [] : [files.ca])];
  const reload = (): void => {
    try {
      server.setSecureContext(usableContext(files));
      logger.info({ audit: 'action', certificate: files.certificate }, 'http.tls.reloaded');
    } catch (error) {
      // Between the new certificate and its new key this is nothing unusual.
      logger.error(
        { audit: 'action', error: messageOf(error), certificate: files.certificate },
        'http.tls.reload_failed',
      );
    }
  };
  for (const path of paths) watchFile(path, { interval, persistent: false }, reload);
  return {
    server,
    stop() {
      for (const path of paths) unwatchFile(path, reload);
    },
  };
}

/** What the files say, as TLS takes it. */
export function contextOf(files: TlsFiles) {
  return {
    cert: read(files.certificate, 'certificate'),
    key: read(files.key, 'key'),
    ...(files.ca !== undefined && { ca: read(files.ca, 'certificate authority') }),
    ...(files.password !== undefined && { passphrase: files.password }),
    minVersion: 'TLSv1.2' as const,
  };
}

/** Found out here, so that it is told what was wrong and the former certificate stays. */
function usableContext(files: TlsFiles) {
  const context = contextOf(files);
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
