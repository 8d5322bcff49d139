/** Legate on the PostgreSQL database of the first argument; the second limits its contexts. */
import { agent } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import { answerQuestions } from '../ipc.ts';
import type { PostgresUsage } from '../rows/postgres-servers.ts';

const [, , url = '', maxContexts] = process.argv;
const store = await openPostgres({ url });

/** `ticks N MS`: N chunks, each with its timestamp, MS milliseconds apart. */
const echo = agent(
  { name: 'echo', description: 'Says what it hears.', serialise: 'task' },
  async function* ({ message }) {
    const words = message.parts[0]?.text ?? '';
    const [verb, count = '', pause = ''] = words.split(' ');
    if (verb !== 'ticks') {
      yield artifact(words);
      return;
    }
    const artifactId = crypto.randomUUID();
    for (let index = 0; index < Number(count); index += 1) {
      await new Promise((resolve) => setTimeout(resolve, Number(pause)));
      const made = performance.timeOrigin + performance.now();
      yield {
        kind: 'chunk',
        artifact: artifact(`made ${made} `, { artifactId }),
        append: index > 0,
        lastChunk: index === Number(count) - 1,
      };
    }
  },
);

const { port } = await serve(echo, {
  store,
  ...(maxContexts !== undefined && { maxContexts: Number(maxContexts) }),
});
answerQuestions<unknown, PostgresUsage>(
  async () => {
    const { user, system } = process.cpuUsage();
    const { roundTrips, transactions } = store.traffic;
    const { rss: residentBytes } = process.memoryUsage();
    return { cpuMicros: user + system, roundTrips, transactions, residentBytes };
  },
  { port },
);
