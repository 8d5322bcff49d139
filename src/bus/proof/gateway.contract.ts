/** A gateway in a process of its own, for the tests that kill it. Arguments: broker, exchange, agent, store. */
import { gateway, openBus } from '../index.ts';

const [url = '', exchange = '', name = '', path = ''] = process.argv.slice(2);

const bus = await openBus({ type: 'rabbitmq', url, exchange });
const { url: address } = await gateway({
  bus,
  agents: [name],
  store: { type: 'sqlite', path },
  leaseMs: 1_000,
});
process.send?.(address);
