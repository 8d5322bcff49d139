import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rabbitMq } from '../../test/support/rabbitmq.ts';
import { endServers } from '../../test/support/servers.ts';
import { type Bench, median } from '../bench.ts';
import {
  type BusKind,
  busKinds,
  type BusLoad,
  type BusLoadResult,
  inFlight,
} from '../bus-protocol.ts';
import { type Helper, startHelper } from '../ipc.ts';
import type { Usage } from '../protocol.ts';
import { atLeast, type Row } from '../row.ts';

type Measured = BusLoadResult & { readonly cpuMicros: number };

/** The length of one round in seconds: short, so that a slow moment of the machine affects all kinds. */
const slice = 2;

/**
 * A task over the bus and back, stored durably on the way, compared with the same messages sent with
 * rabbitmq-client only, which stores nothing and runs no task. The three processes are not pinned to
 * processors.
 */
export const bus: Row = {
  name: 'bus',
  title: `a task over RabbitMQ and back, SQLite, ${inFlight} under way, against bare rabbitmq-client`,
  async run({ options: { seconds, rounds } }: Bench) {
    const { url } = await rabbitMq();
    const directory = await mkdtemp(join(tmpdir(), 'bench-'));
    const helpers: { stop(): Promise<void> }[] = [];
    try {
      const servers = new Map<BusKind, Helper<unknown, Usage>>();
      for (const kind of busKinds) {
        const { helper } = await startHelper<unknown, Usage, unknown>({
          file: 'servers/bus.ts',
          arguments: [kind, url, directory],
        });
        servers.set(kind, helper);
        helpers.push(helper);
      }
      const { helper: load } = await startHelper<BusLoad, BusLoadResult, unknown>({
        file: 'bus-load.ts',
        arguments: [url],
      });
      helpers.push(load);
      const measure = async (kind: BusKind): Promise<Measured> => {
        const before = await servers.get(kind)?.ask({});
        const result = await load.ask({ kind, seconds: slice });
        const after = await servers.get(kind)?.ask({});
        const cpuMicros = ((after?.cpuMicros ?? 0) - (before?.cpuMicros ?? 0)) / result.requests;
        return { ...result, cpuMicros };
      };
      for (const kind of busKinds) await load.ask({ kind, seconds: 3 });
      const measured: Record<BusKind, Measured[]> = { ours: [], bare: [], rpc: [] };
      for (let left = rounds * seconds; left > 0; left -= slice) {
        for (const kind of busKinds) measured[kind].push(await measure(kind));
      }
      const shares = measured.ours.map((own, round) => rate(own) / rate(measured.bare[round]));
      return {
        notes: Object.fromEntries(
          busKinds.flatMap((kind) => [
            [`${kind}, round trips/s`, median(measured[kind].map(rate))],
            [`${kind}, p50 ms`, median(measured[kind].map(({ p50Ms }) => p50Ms))],
            [`${kind}, server CPU us`, median(measured[kind].map(({ cpuMicros }) => cpuMicros))],
          ]),
        ),
        verdicts: [atLeast('round trips over the bus, of bare ones', median(shares), 0.35, 'x')],
      };
    } finally {
      for (const helper of helpers) await helper.stop();
      await rm(directory, { recursive: true, force: true });
      endServers();
    }
  },
};

function rate(result: BusLoadResult | undefined): number {
  return (result?.requests ?? Number.NaN) / (result?.seconds ?? Number.NaN);
}
