/**
 * A caller in a process of its own, for the tests that kill it: calls the agent with each text that it is
 * sent, and appends the outcomes to a file. Arguments: broker, exchange, agent, name, store, file.
 */
import { appendFileSync } from 'node:fs';
import { joinPeers } from '../../peers/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { openStore } from '../../store/index.ts';
import { busLink, openBus } from '../index.ts';

const [url = '', exchange = '', agent = '', name = '', path = '', file = ''] =
  process.argv.slice(2);

const bus = await openBus({ type: 'rabbitmq', url, exchange, publishTimeoutMs: 90_000 });
const network = await joinPeers({
  name,
  store: await openStore({ type: 'sqlite', path }),
  links: [busLink({ bus })],
  wellKnown: [{ name: agent }],
  timeoutMs: 15 * 60_000,
  maxInFlight: 100_000,
  conversations: {
    // Called again after a crash, with the same outcome.
    async ended({ request }, { outcome }) {
      appendFileSync(file, `${JSON.stringify([request, outcome.text])}\n`);
    },
  },
});
await network.started;
const session = { id: name, caller: { tenant: '', subject: 'user', method: 'test' } };

process.on('message', (text: string) => {
  // The id is the same after a crash, so a stored call is not made again.
  network.invoker.invoke({ agent, message: text }, session, { id: text }).then(
    () => process.send?.({ text, code: 'accepted' }),
    (error: unknown) => {
      const isKnown = error instanceof LegateError && error.message.includes('exists already');
      const code = isKnown ? 'accepted' : error instanceof LegateError ? error.code : String(error);
      process.send?.({ text, code });
    },
  );
});
process.send?.('ready');
