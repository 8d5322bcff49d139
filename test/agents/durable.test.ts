import { type ChildProcess, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { type Client, connect } from '../../src/client/index.ts';
import { type ScriptedRequest, startScriptedModelServer } from '../../src/models/index.ts';
import { message, type Task } from '../../src/protocol/index.ts';
import { temporaryDirectory } from '../support/stores.ts';

// Each test starts several processes.
vi.setConfig({ testTimeout: 120_000 });

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Starts the server; `paid` resolves when its tool has run. */
async function start(...options: string[]): Promise<{
  client: Client;
  paid: Promise<void>;
  kill: () => Promise<void>;
}> {
  const child = fork(join(import.meta.dirname, 'durable-server.ts'), options, { execArgv: [] });
  children.push(child);
  const ready = Promise.withResolvers<number>();
  const paid = Promise.withResolvers<void>();
  child.on('message', (told: { port?: number; event?: string }) => {
    if (told.port !== undefined) ready.resolve(told.port);
    if (told.event === 'paid') paid.resolve();
  });
  child.once('exit', () => ready.reject(new Error('the server did not start')));
  const client = await connect(`http://127.0.0.1:${await ready.promise}`);
  return {
    client,
    paid: paid.promise,
    kill: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
  };
}

function taskIn(answer: object): Task {
  if ('task' in answer) return answer.task as Task;
  throw new Error('the answer is not a task');
}

/** Calls the tool, then tells what became of it. */
function answer({ messages }: ScriptedRequest) {
  const last = messages.at(-1);
  if (last?.role !== 'tool') return { toolCalls: [{ name: 'pay', input: {}, id: 'p' }] };
  return last.text.includes('unknown') ? 'I cannot tell whether it was paid.' : 'Paid.';
}

for (const [mode, times, said] of [
  ['hang', 1, 'I cannot tell whether it was paid.'],
  ['idempotent', 2, 'Paid.'],
] as const) {
  test(`after kill -9 during a confirmed tool it has run ${times} time(s) (${mode})`, async () => {
    await using directory = await temporaryDirectory();
    await using models = await startScriptedModelServer(answer);
    const [path, ledger] = [join(directory.path, 'store.db'), join(directory.path, 'ledger')];
    const before = await start(path, models.url, ledger, mode);
    const asked = taskIn(await before.client.sendMessage('Pay'));
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const yes = { message: message('yes', { taskId: asked.id }) };
    const immediately = { ...yes, configuration: { returnImmediately: true } };
    await before.client.sendMessage(immediately);
    await before.paid;
    await before.kill();
    const after = await start(path, models.url, ledger, `${mode}-no-more`);
    const done = await after.client.waitForEnd(asked.id);
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(done.artifacts?.[0]?.parts[0]?.text).toBe(said);
    expect(await readFile(ledger, 'utf8')).toBe('paid\n'.repeat(times));
  });
}

for (const [mode, state, question, reply] of [
  ['confirmation', 'TASK_STATE_INPUT_REQUIRED', 'confirmation', { confirmed: true }],
  ['result', 'TASK_STATE_INPUT_REQUIRED', 'result', { result: 'arrived' }],
  ['credential', 'TASK_STATE_AUTH_REQUIRED', 'credential', { credential: 'consent-1' }],
] as const) {
  test(`a pause for a ${mode} outlives the process, is answered over A2A, and its tool runs once`, async () => {
    await using directory = await temporaryDirectory();
    await using models = await startScriptedModelServer(answer);
    const [path, ledger] = [join(directory.path, 'store.db'), join(directory.path, 'ledger')];
    const before = await start(path, models.url, ledger, mode);
    const asked = taskIn(await before.client.sendMessage('Pay'));
    expect(asked.status.state).toBe(state);
    await before.kill();
    const after = await start(path, models.url, ledger, mode);
    const kept = await after.client.getTask(asked.id);
    expect(kept.status.state).toBe(state);
    expect(kept.status.message?.parts[0]?.data).toMatchObject({ request: question, tool: 'pay' });
    const answered = message([{ data: reply }], { taskId: asked.id, messageId: 'answer' });
    const done = taskIn(await after.client.sendMessage(answered));
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(done.artifacts?.[0]?.parts[0]?.text).toBe('Paid.');
    // The same answer again changes nothing.
    expect(taskIn(await after.client.sendMessage(answered)).id).toBe(asked.id);
    expect(await readFile(ledger, 'utf8')).toBe('paid\n');
  });
}

test('state outlives the process, with the end of the turn that changed it', async () => {
  await using directory = await temporaryDirectory();
  await using models = await startScriptedModelServer(answer);
  const options = [
    join(directory.path, 'store.db'),
    models.url,
    join(directory.path, 'ledger'),
    'ok',
  ];
  const before = await start(...options);
  const asked = taskIn(await before.client.sendMessage('Pay'));
  await before.client.sendMessage(message('yes', { taskId: asked.id }));
  await before.kill();
  const after = await start(...options);
  await after.client.sendMessage(message('Again', { contextId: asked.contextId }));
  expect(models.requests.at(-1)?.messages[0]?.text).toBe('Paid before: Paid.');
  await after.client.sendMessage('Elsewhere');
  expect(models.requests.at(-1)?.messages[0]?.text).toBe('Paid before: ');
});
