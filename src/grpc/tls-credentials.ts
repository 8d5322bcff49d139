import { ServerCredentials } from '@grpc/grpc-js';
import { unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { tlsContext, type TlsFiles } from '../http/index.ts';
import type { Logger } from '../telemetry/index.ts';

/** How often the files are looked at, in milliseconds. */
const interval = 2_000;

/**
 * The certificate of the door, read again when its files change; connections stay open. Files that
 * cannot be used are reported, and the former certificate stays in use.
 */
export class TlsCredentials extends ServerCredentials {
  readonly #paths: readonly string[];
  readonly #reload: () => void;

  constructor(files: TlsFiles, logger: Logger) {
    super(
      {
        requestCert: files.ca !== undefined,
        rejectUnauthorized: files.requireClientCertificate === true,
      },
      tlsContext(files),
    );
    this.#paths = [files.certificate, files.key, ...(files.ca === undefined ? [] : [files.ca])];
    this.#reload = () => {
      try {
        const context = tlsContext(files);
        // With a certificate that cannot be used, the server would turn everybody away.
        createSecureContext(context);
        this.updateSecureContextOptions(context);
        logger.info({ certificate: files.certificate }, 'grpc.tls.reloaded');
      } catch (error) {
        logger.error({ error }, 'grpc.tls.reload_failed');
      }
    };
    for (const path of this.#paths) watchFile(path, { interval, persistent: false }, this.#reload);
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  /** Looks at the files no more. */
  stop(): void {
    for (const path of this.#paths) unwatchFile(path, this.#reload);
  }
}
