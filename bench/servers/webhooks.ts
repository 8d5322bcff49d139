/** Legate on SQLite in the directory of the first argument, with webhooks enabled. */
import { join } from 'node:path';
import { agent } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { workOf } from '../work.ts';
import { Instruments } from './instruments.ts';

const instruments = new Instruments();

const notifier = agent(
  { name: 'notifier', description: 'Makes events that others are notified of.', serialise: 'task' },
  async function* ({ message }) {
    const end = instruments.turn();
    const words = message.parts[0]?.text ?? '';
    const work = workOf(words);
    if (work.kind === 'echo') yield artifact(words);
    else {
      const piece = artifact('x'.repeat(work.size), { artifactId: 'story' });
      for (let index = 0; index < work.count; index += 1) {
        yield { kind: 'chunk', artifact: piece, append: index > 0, lastChunk: false };
      }
    }
    end();
  },
);

const [, , directory = '.'] = process.argv;
const { port } = await serve(notifier, {
  store: { type: 'sqlite', path: join(directory, 'bench.db') },
  push: { maxAttempts: 20, backoff: { initialDelay: 100, factor: 2, maxDelay: 2_000 } },
});
instruments.report(port);
