import { ServerCredentials } from '@grpc/grpc-js';
import { readTls, type TlsFiles, watchTls } from '../service/index.ts';
import type { Logger } from '../telemetry/index.ts';

/** The certificate of a server, read again when its files change. */
export class TlsCredentials extends ServerCredentials {
  /** Looks at the files no more. */
  readonly stop: () => void;

  constructor(files: TlsFiles, logger: Logger) {
    super(
      {
        requestCert: files.ca !== undefined,
        rejectUnauthorized: files.requireClientCertificate === true,
      },
      readTls(files),
    );
    this.stop = watchTls(files, logger, (context) => this.updateSecureContextOptions(context));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
