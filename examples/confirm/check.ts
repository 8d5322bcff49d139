import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/client/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import type { ScriptedReply, ScriptedRequest } from '../../src/models/index.ts';
import { data, message, type Task } from '../../src/protocol/index.ts';
import { exampleModel } from '../model.ts';
import { clerk } from './agent.ts';

function answer({ promptText }: ScriptedRequest): ScriptedReply {
  if (promptText.includes('"transferred":500')) return 'Done: Ann has her 500.';
  return { toolCalls: [{ name: 'transfer_money', input: { to: 'Ann', amount: 500 } }] };
}

const folder = await mkdtemp(join(tmpdir(), 'legate-confirm-'));
const ledger = join(folder, 'ledger');

/** Runs the work with a new server. The servers share only the store. */
async function during<T>(work: (server: Serving) => Promise<T>): Promise<T> {
  await using example = await exampleModel(answer);
  await using server = await serve(clerk(example.model, ledger), {
    store: { type: 'sqlite', path: join(folder, 'store.db') },
  });
  return await work(server);
}

try {
  const asked = await during(async ({ url }): Promise<Task> => {
    const sent = await (await connect(url)).sendMessage('Send 500 to Ann');
    assert('task' in sent);
    return sent.task;
  });
  assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED');
  const question = asked.status.message?.parts[0]?.data as { tool?: string; callId?: string };
  assert.equal(question.tool, 'transfer_money');
  await assert.rejects(readFile(ledger), 'nothing is sent without a yes');

  const done = await during(async ({ url }): Promise<Task> => {
    const client = await connect(url);
    const { callId = '' } = question;
    const yes = message(data({ callId, confirmed: true }), { taskId: asked.id });
    const sent = await client.sendMessage(yes);
    // A duplicate, as a client sends it after a lost connection.
    assert.deepEqual(await client.sendMessage(yes), sent);
    assert('task' in sent);
    return sent.task;
  });
  assert.equal(done.status.state, 'TASK_STATE_COMPLETED');
  assert.equal(await readFile(ledger, 'utf8'), '500 to Ann\n');
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log('confirm: a question outlived its server, and one yes sent the money once');
