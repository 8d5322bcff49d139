import assert from 'node:assert/strict';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import type { ScriptedReply, ScriptedRequest } from '../../src/models/index.ts';
import { exampleModel } from '../model.ts';
import { newsroom } from './agent.ts';

let drafts = 0;

/** The response of each agent, by its instruction. */
function answer({ promptText }: ScriptedRequest): ScriptedReply {
  if (promptText.includes('its history')) return 'Tea came to Europe by sea.';
  if (promptText.includes('its price')) return 'A pound of tea costs five.';
  if (promptText.includes('You are a writer')) {
    drafts += 1;
    return drafts === 1 ? 'Tea came by sea.' : 'Tea came by sea. It costs five.';
  }
  if (!promptText.endsWith('costs five.')) return 'It lacks the price.';
  return { text: 'Good.', toolCalls: [{ name: 'exit_loop', input: {} }] };
}

await using example = await exampleModel(answer);
await using server = await serve(newsroom(example.model));
const client = await connect(server.url);
const steps = new Set<unknown>();
let text = '';
let state: string | undefined;
for await (const { response } of client.sendStreamingMessage('Tea')) {
  if ('statusUpdate' in response) {
    steps.add(response.statusUpdate.metadata?.['agent']);
    ({ state } = response.statusUpdate.status);
  } else if ('artifactUpdate' in response) {
    text += response.artifactUpdate.artifact.parts.map((part) => part.text ?? '').join('');
  }
}
assert.equal(state, 'TASK_STATE_COMPLETED');
for (const step of ['research/history', 'research/market', 'polish/writer', 'polish/critic']) {
  assert(steps.has(step), `${step} took no turn`);
}
if (example.isScripted) assert.equal(text, 'Tea came by sea. It costs five.');
else assert.notEqual(text, '');
console.log('pipeline: researchers worked side by side, and a writer until the critic was content');
