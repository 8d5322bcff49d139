/** A server on SQLite that calls webhooks, in a process of its own so that it can be killed. */
import { agent, working } from '../../../src/agents/index.ts';
import { serve } from '../../../src/http/index.ts';
import { artifact } from '../../../src/protocol/index.ts';

const [path = '', maxAttempts = '10'] = process.argv.slice(2);

const server = await serve(
  agent({ name: 'notifier', serialise: 'task', onInterrupted: 'run-again' }, async function* () {
    yield working('one');
    yield working('two');
    yield artifact('three');
  }),
  {
    store: { type: 'sqlite', path },
    push: {
      maxAttempts: Number(maxAttempts),
      backoff: { initialDelay: 20, factor: 2, maxDelay: 200 },
      pollInterval: 100,
    },
  },
);
process.send?.({ port: server.port });
