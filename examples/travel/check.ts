import assert from 'node:assert/strict';
import { connect } from '../../src/client/index.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { serve } from '../../src/http/index.ts';
import { type JsonObject, message, type Task } from '../../src/protocol/index.ts';
import { exampleEndpoint } from '../model.ts';
import { desk } from './hotels/desk.ts';
import { traveller } from './script.ts';

await using endpoint = await exampleEndpoint(traveller);
await using hotels = await serve(desk);
await using assistant = await serveAssistant({
  places: { directory: import.meta.dirname },
  environment: {
    TRAVEL_MODEL: endpoint.model,
    TRAVEL_MODEL_URL: endpoint.url,
    TRAVEL_MODEL_KEY: endpoint.key,
    HOTEL_DESK_URL: hotels.url,
  },
});
const client = await connect(assistant.url);

async function say(text: string): Promise<{ task: Task; words: string; slots: JsonObject }> {
  const sent = await client.sendAndWait(message(text, { contextId: 'one' }));
  assert('task' in sent);
  const { parts = [] } = sent.task.status.message ?? {};
  const words = parts.map((part) => part.text ?? '').join('\n');
  const { slots } = (parts[0]?.data ?? {}) as { readonly slots: JsonObject };
  return { task: sent.task, words, slots };
}

assert.match((await say('plan a trip')).words, /Where do you want to go/);
let { words, slots, task } = await say('Rome');
// The script needs one answer; a real model can ask for more.
for (let turns = 0; turns < 6 && !words.includes('One bed or two?'); turns += 1) {
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED', words);
  if (endpoint.isScripted) assert.match(words, /LG12 .* LG34/);
  ({ words, slots, task } = await say('the cheapest one, tomorrow'));
}
assert.equal(slots['flight'], 'LG34');
({ words, slots } = await say('two'));
assert.equal(slots['hotel'], 'Hotel Aurora');
assert.match(words, /Flight LG34 to Rome and a night at Hotel Aurora/);
({ words, task } = await say('yes'));
assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
assert.match(words, /Your booking is B-LG34/);
console.log(
  'travel: a model found a flight with its tools, an agent elsewhere a room, and a tool booked it',
);
