import { postgres as server } from '../../test/support/postgres.ts';
import { median } from '../bench.ts';
import { atLeast, type Row } from '../row.ts';
import { measure } from './postgres.ts';
import { startContender } from './postgres-servers.ts';

/** Sends to four replicas on one database, with the limit of contexts that assistants have, and with none. */
export const replicas: Row = {
  name: 'replicas',
  title: 'send, PostgreSQL, 4 replicas, with and without a limit of contexts',
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
      for (const { contender, sends } of contenders) {
        sends.push((await measure(bench, contender, bench.options.seconds)).sends);
      }
    }
    const limited = median(contenders[0].sends);
    const open = median(contenders[1].sends);
    return {
      notes: { 'max_contexts 1,000, sends/s': limited, 'max_contexts 0, sends/s': open },
      verdicts: [atLeast('sends/s with the limit, of those without', limited / open, 0.95, 'x')],
    };
  },
};
