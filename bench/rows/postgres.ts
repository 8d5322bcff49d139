import { postgres as server } from '../../test/support/postgres.ts';
import { type Bench, median } from '../bench.ts';
import { sendMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { databaseCost } from './postgres-database.ts';
import { eventDelays } from './postgres-events.ts';
import { type Contender, startContender } from './postgres-servers.ts';

const connections = 32;

/** The results of one contender in one round. */
export interface Round {
  readonly sends: number;
  readonly cpuMicros: number;
  readonly roundTrips: number;
  readonly transactions: number;
}

/**
 * Sends messages and waits for completed tasks, with all data in PostgreSQL: one and two replicas of
 * Legate, compared with the official SDK and its table. Then measures the delay of events to a subscriber
 * of the other replica.
 */
export const postgres: Row = {
  name: 'postgres',
  title: 'send, PostgreSQL, 1 and 2 replicas; events across replicas',
  async run(bench) {
    await using stage = new AsyncDisposableStack();
    const host = await server();
    const start = async (name: string, file: string, replicas: number): Promise<Contender> =>
      stage.use(await startContender(name, { file, replicas, database: await host.database() }));
    const contenders = [
      await start('official SDK', 'servers/sdk.ts', 1),
      await start('1 replica', 'servers/postgres.ts', 1),
      await start('2 replicas', 'servers/postgres.ts', 2),
    ] as const;
    const rounds = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
    for (const contender of contenders) await measure(bench, contender, 2);
    for (let round = 0; round < bench.options.rounds; round += 1) {
      for (const contender of contenders) {
        const measured = await measure(bench, contender, bench.options.seconds);
        rounds.get(contender.name)?.push(measured);
      }
    }
    const of = (name: string, pick: (round: Round) => number): number =>
      median((rounds.get(name) ?? []).map(pick));
    const delays = await eventDelays(contenders[2].ports);
    const { ports, database } = contenders[1];
    const { residentBytes } = await contenders[1].usage();
    const cost = await databaseCost(bench, { port: ports[0] ?? 0, database });
    const notes: Record<string, number> = {};
    for (const { name } of contenders) {
      notes[`${name}, sends/s`] = of(name, ({ sends }) => sends);
      notes[`${name}, CPU µs per send`] = of(name, ({ cpuMicros }) => cpuMicros);
    }
    for (const name of ['1 replica', '2 replicas']) {
      notes[`${name}, round trips per send`] = of(name, ({ roundTrips }) => roundTrips);
      notes[`${name}, transactions per send`] = of(name, ({ transactions }) => transactions);
    }
    notes['p50 of an event on its own replica, ms'] = delays.same.p50;
    notes['p99 of an event on its own replica, ms'] = delays.same.p99;
    notes['p50 of an event on the other replica, ms'] = delays.other.p50;
    notes['p99 of an event on the other replica, ms'] = delays.other.p99;
    notes['resident memory of a replica, MiB'] = residentBytes / 2 ** 20;
    notes['updates of rows that changed no index, share'] = cost.hotShare;
    const sdk = of('official SDK', ({ sends }) => sends);
    return {
      notes,
      verdicts: [
        atLeast(
          'sends/s with 1 replica, of the official SDK',
          of('1 replica', ({ sends }) => sends) / sdk,
          4,
          'x',
        ),
        atLeast(
          'sends/s with 2 replicas, of the official SDK',
          of('2 replicas', ({ sends }) => sends) / sdk,
          4,
          'x',
        ),
        atMost(
          'p99 of an event on the other replica, over that on its own',
          delays.other.p99 - delays.same.p99,
          50,
          'ms',
        ),
        atMost('CPU of the database for a send', cost.cpuMicros, 220, 'µs'),
        atMost('write-ahead log for a send', cost.walBytes, 2_500, 'bytes'),
        atMost('disk for a task', cost.storedBytes, 1_600, 'bytes'),
        atMost('CPU for a send after 50,000 beside an open snapshot', cost.growth, 1.2, 'x'),
      ],
    };
  },
};

export async function measure(bench: Bench, contender: Contender, seconds: number): Promise<Round> {
  const { ports } = contender;
  const before = await contender.usage();
  const results = await Promise.all(
    ports.map((port) =>
      bench.load(sendMessage(port), { seconds, connections: connections / ports.length }),
    ),
  );
  const after = await contender.usage();
  const requests = results.reduce((sum, result) => sum + result.requests, 0);
  return {
    sends: results.reduce((sum, result) => sum + result.requests / result.seconds, 0),
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
    roundTrips: (after.roundTrips - before.roundTrips) / requests,
    transactions: (after.transactions - before.transactions) / requests,
  };
}
