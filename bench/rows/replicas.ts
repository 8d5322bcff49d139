import { Client } from 'pg';
import { postgres as server } from '../../test/support/postgres.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import { type Bench, median } from '../bench.ts';
import { DatabaseMeter } from '../database-meter.ts';
import { sendMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { measure } from './postgres.ts';
import { startContender } from './postgres-servers.ts';

/** Listening connections, besides that of the server under load. */
const listeners = { few: 1, many: 49 } as const;
const sends = 5_000;

/**
 * Sends to four replicas on one database, with the context limit of assistants and without one. Then
 * measures the cost of a send in the database beside idle replicas that listen.
 */
export const replicas: Row = {
  name: 'replicas',
  title: 'send, PostgreSQL, 4 replicas with and without a limit of contexts; idle replicas',
  async run(bench) {
    await using stage = new AsyncDisposableStack();
    const host = await server();
    const start = async (maxContexts: number) =>
      stage.use(
        await startContender(`max_contexts ${maxContexts}`, {
          file: 'servers/postgres.ts',
          replicas: 4,
          database: await host.database(),
          maxContexts,
        }),
      );
    const contenders = [
      { contender: await start(1_000), sends: [] as number[] },
      { contender: await start(0), sends: [] as number[] },
    ] as const;
    for (const { contender } of contenders) await measure(bench, contender, 2);
    for (let round = 0; round < bench.options.rounds; round += 1) {
      for (const { contender, sends: measured } of contenders) {
        measured.push((await measure(bench, contender, bench.options.seconds)).sends);
      }
    }
    const limited = median(contenders[0].sends);
    const open = median(contenders[1].sends);
    const idle = await besideListeners(bench, await host.database());
    return {
      notes: {
        'max_contexts 1,000, sends/s': limited,
        'max_contexts 0, sends/s': open,
        'CPU of the database for a send with 2 listening connections, µs': idle.few,
        'CPU of the database for a send with 50 listening connections, µs': idle.many,
      },
      verdicts: [
        atLeast('sends/s with the limit, of those without', limited / open, 0.95, 'x'),
        atMost('CPU for a send, 50 listening of 2', idle.many / idle.few, 1.15, 'x'),
      ],
    };
  },
};

/** The server counts a store with a lease as a replica; the further connections only listen. */
async function besideListeners(
  bench: Bench,
  database: string,
): Promise<Record<keyof typeof listeners, number>> {
  await using stage = new AsyncDisposableStack();
  const contender = stage.use(
    await startContender('idle replicas', { file: 'servers/postgres.ts', replicas: 1, database }),
  );
  const store = await openPostgres({ url: database });
  stage.defer(() => store.close());
  // Appends to other tasks send it no notification.
  stage.defer(store.follow('followed'));
  const meter = stage.use(await DatabaseMeter.open(database));
  const load = (requests: number) =>
    bench.load(sendMessage(contender.ports[0] ?? 0), { requests, connections: 32 });
  const costs = { few: [] as number[], many: [] as number[] };
  await load(sends);
  for (let round = 0; round < bench.options.rounds; round += 1) {
    for (const kind of ['few', 'many'] as const) {
      const clients = await listen(database, listeners[kind] - 1);
      const before = await meter.usage();
      await load(sends);
      costs[kind].push(((await meter.usage()).cpuMicros - before.cpuMicros) / sends);
      for (const client of clients) await client.end();
    }
  }
  return { few: median(costs.few), many: median(costs.many) };
}

async function listen(database: string, count: number): Promise<Client[]> {
  const clients = Array.from({ length: count }, () => new Client({ connectionString: database }));
  for (const client of clients) {
    await client.connect();
    await client.query('LISTEN legate');
  }
  return clients;
}
