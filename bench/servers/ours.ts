/**
 * Legate on the store that the first argument names; the second is the folder of the SQLite file.
 */
import { join } from 'node:path';
import { agent } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import type { StoreOptions } from '../../src/store/index.ts';
import { workOf } from '../work.ts';
import { Instruments } from './instruments.ts';

const instruments = new Instruments();
const [, , storeType = 'memory', directory = '.'] = process.argv;

const echo = agent(
  {
    name: 'echo',
    description: 'Says what it hears.',
    serialise: 'task',
  },
  async function* ({ message }) {
    const end = instruments.turn();
    const words = message.parts[0]?.text ?? '';
    const work = workOf(words);
    if (work.kind === 'echo') {
      yield artifact(words);
      end();
      return;
    }
    const artifactId = crypto.randomUUID();
    const piece = artifact('x'.repeat(work.size), { artifactId });
    for (let index = 0; index < work.count; index += 1) {
      yield {
        kind: 'chunk',
        artifact: piece,
        append: work.kind === 'chunks' && index > 0,
        lastChunk: index === work.count - 1,
      };
      // An agent that streams waits for its model between two chunks.
      await new Promise((resolve) => setImmediate(resolve));
    }
    end();
  },
);

const store: StoreOptions =
  storeType === 'sqlite'
    ? { type: 'sqlite', path: join(directory, 'bench.db') }
    : { type: 'memory' };
const { port } = await serve(echo, { store });
instruments.report(port);
