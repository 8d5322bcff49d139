import { present } from '../../../config/index.ts';
import type { ClientTls } from '../../../net/index.ts';
import { errorMessage } from '../../../protocol/index.ts';
import type { Logger } from '../../../telemetry/index.ts';

/** Certificates as PEM: trusted authorities, and our own. */
export interface BrokerTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The current content of files that rotate; fixed certificates unchanged. */
export async function currentTls(
  tls: BrokerTls | ClientTls | undefined,
): Promise<BrokerTls | undefined> {
  if (tls === undefined || !('current' in tls)) return tls;
  const { ca, certificate: cert, key } = await tls.current();
  return present({ ca, cert, key });
}

type LibraryTls = { readonly [Name in keyof BrokerTls]-?: string | undefined };

/**
 * Options for the client library. It reads them synchronously for each connection, so they contain the
 * certificates of the last `refresh`. Call `refresh` when a connection is lost or refused: the library then
 * connects again. `refresh` never rejects.
 */
export async function rotatingTls(
  tls: BrokerTls | ClientTls,
  logger: Logger,
): Promise<{ readonly options: LibraryTls; refresh(): Promise<void> }> {
  let last = await currentTls(tls);
  return {
    options: {
      get ca() {
        return last?.ca;
      },
      get cert() {
        return last?.cert;
      },
      get key() {
        return last?.key;
      },
    },
    async refresh() {
      try {
        last = await currentTls(tls);
      } catch (thrown) {
        logger.error({ what: 'tls', error: errorMessage(thrown) }, 'files.reload_failed');
      }
    },
  };
}
