import assert from 'node:assert/strict';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { greeter } from './agent.ts';

await using server = await serve(greeter);
const client = await connect(server.url);
const answer = await client.sendMessage('world');
assert('task' in answer);
assert.equal(answer.task.status.state, 'TASK_STATE_COMPLETED');
assert.deepEqual(answer.task.artifacts?.[0]?.parts, [{ text: 'Hello, world!' }]);
console.log('hello: an agent was served, called and answered');
