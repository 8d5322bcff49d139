/** A server for the tests of what outlives a process: an agent with a model, a tool and a state. */
import { appendFile } from 'node:fs/promises';
import { llmAgent, tool } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { createModel } from '../../src/models/index.ts';

const [path = '', modelUrl = '', ledger = '', mode = ''] = process.argv.slice(2);

/** Why the tool pauses: for a yes, unless the mode says otherwise. */
const pause =
  mode === 'result'
    ? { isLongRunning: true }
    : mode === 'credential'
      ? { credentials: { scheme: 'bank' } }
      : { needsConfirmation: true };

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  ...pause,
  isIdempotent: mode.startsWith('idempotent'),
  run: async (_, { session }) => {
    await appendFile(ledger, 'paid\n');
    session.set('user:paid', true);
    process.send?.({ event: 'paid' });
    if (mode === 'hang' || mode === 'idempotent') await new Promise(() => {});
    return 'ok';
  },
});
const entry = { provider: 'openai-compatible', model: 'scripted', api_base: modelUrl };
const server = await serve(
  llmAgent({
    name: 'clerk',
    model: createModel({ id: 'm', models: [entry] }),
    instruction: 'Paid before: {paid_before?}',
    tools: [pay],
    outputKey: 'paid_before',
    credentials: ({ reference }) =>
      reference === 'consent-1' ? { type: 'bearer', token: 'secret' } : undefined,
    onInterrupted: 'run-again',
  }),
  { store: { type: 'sqlite', path } },
);
process.send?.({ port: server.port });
