/** A host in a process of its own, for the tests that kill it. Arguments: broker, exchange, name, file, policy, database, once. */
import { appendFileSync } from 'node:fs';
import { agent, chunk, textOf } from '../../agents/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { hostOnBus, openBus } from '../index.ts';

const [url = '', exchange = '', name = '', path = '', policy = 'fail', storeUrl = '', once = ''] =
  process.argv.slice(2);

/** Sends each event to the test, which then kills this process. */
const logger: Logger = {
  ...silentLogger,
  debug: (_fields, event) => void process.send?.(event),
  child: () => logger,
};
const bus = await openBus({ type: 'rabbitmq', url, exchange });
await hostOnBus(
  agent(
    { name, onInterrupted: policy === 'run-again' ? 'run-again' : 'fail' },
    async function* (turn) {
      const said = textOf(turn.message);
      // One line for each turn that starts, even if the process dies.
      appendFileSync(`${path}.turns`, `${said} ${turn.attempt}\n`);
      yield chunk('a', 'begun ');
      if (said === 'hang' && turn.attempt === 1) await new Promise(() => {});
      if (said === 'die') process.kill(process.pid, 'SIGKILL');
      yield chunk('a', `done ${said}`, { append: true, last: true });
    },
  ),
  {
    bus,
    store: storeUrl === '' ? { type: 'sqlite', path } : { type: 'postgres', url: storeUrl },
    concurrency: 20,
    leaseMs: storeUrl === '' ? 15_000 : 3_000,
    acknowledgeAfterMs: 100,
    logger,
    once: once !== '',
  },
);
process.send?.('ready');
