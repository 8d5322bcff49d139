import { cardVerifier } from '../../auth/index.ts';
import { connect } from '../../client/index.ts';
import { present } from '../../config/index.ts';
import { clientTls, tlsFetch } from '../../push/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { within } from '../../time/index.ts';
import type { Endpoints } from '../endpoints.ts';
import { type Diagnosis, failed, passed, reasonOf, skipped, timeLimit } from './diagnosis.ts';

/** Fetches the card of each well-known peer that has a URL, and verifies it if it must be signed. */
export async function* examinePeers(
  { peers }: Pick<Endpoints, 'peers'>,
  directory: string,
): AsyncGenerator<Diagnosis> {
  if (peers === undefined) return;
  for (const { name, url, auth, verifyCard: trust } of peers.wellKnown) {
    const what = `Peer ${name}`;
    if (url === undefined) {
      yield skipped(what, 'on the bus: it answers there, or its tasks wait');
      continue;
    }
    try {
      const { tls } = peers;
      const fetch = tls && tlsFetch(clientTls(tls, { directory, logger: silentLogger }));
      const verifyCard =
        trust && cardVerifier(trust, { what: `peer ${name}`, directory, logger: silentLogger });
      const headers = auth && { [auth.header]: auth.value };
      const { card } = await within(timeLimit, (signal) =>
        connect(url, { signal, ...present({ fetch, headers, verifyCard }) }),
      );
      yield passed(what, `${card.name} answers at ${new URL(url).origin}`);
    } catch (error) {
      yield failed(what, reasonOf(error), 'start it, or fix its entry of peers.well_known');
    }
  }
}
