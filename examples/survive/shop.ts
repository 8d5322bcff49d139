/** A shop whose process is killed in the middle of an order, and continues after a restart. */
import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { connect, llmAgent, serve, textOf, tool } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/index.ts';

const isOrdering = process.argv[2] === 'order';
const note = (line: string) => appendFileSync('ledger.txt', `${line}\n`);

const charge = tool({
  name: 'charge',
  description: 'Charges the card.',
  run: () => note('charged 40 francs'),
});
const ship = tool({
  name: 'ship',
  description: 'Ships the parcel.',
  isIdempotent: true, // running it twice is safe
  run: () => {
    note('shipping');
    if (isOrdering) process.kill(process.pid, 'SIGKILL'); // simulates a crash
  },
});

// A script instead of a model, so that you need no API key: one tool, the other tool, the answer.
const call = (name: string) => ({ toolCalls: [{ name, input: {} }] });
const model = scriptedModel(({ messages }) => {
  const results = messages.filter(({ role }) => role === 'tool').length;
  return [call('charge'), call('ship')][results] ?? 'Shipped.';
});

const shop = llmAgent({ name: 'shop', model, tools: [charge, ship] });
const server = await serve(shop, { store: { type: 'sqlite', path: 'shop.db' } });
const client = await connect(server.url);
if (isOrdering) await client.ask('One parcel, please');

for (let answer = ''; answer === ''; await setTimeout(100)) {
  const [task] = (await client.listTasks({ includeArtifacts: true })).tasks;
  answer = task === undefined ? 'nothing was ordered' : textOf(task);
  if (answer !== '') console.log(answer);
}
await server.close();
