import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/stores.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function start(
  path: string,
  policy: string,
): Promise<{ url: string; said: object[]; kill: () => Promise<void> }> {
  const child = fork(join(import.meta.dirname, 'server.ts'), [path, policy], { execArgv: [] });
  children.push(child);
  /** What the agent reports of its turns: that one starts, that it is to stop. */
  const said: object[] = [];
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.on('message', (message: object) => {
      if ('port' in message) resolve(message as { port: number });
      else said.push(message);
    });
    child.once('exit', () => reject(new Error('the server did not start')));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    said,
    kill: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
  };
}

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

async function post(url: string, body: object): Promise<{ task: { id: string } }> {
  const response = await fetch(`${url}/message:send`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return (await response.json()) as { task: { id: string } };
}

const say = (text: string, more: object = {}) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

async function getText(url: string, id: string): Promise<string> {
  return (await fetch(`${url}/tasks/${id}`, { headers })).text();
}

test('after kill -9 every acknowledged task is there, and finished ones are byte-identical', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  const before = await start(path, 'fail');
  const ids: string[] = [];
  for (let index = 0; index < 50; index += 1) {
    ids.push((await post(before.url, say(String(index)))).task.id);
  }
  const asked = await post(before.url, say('ask'));
  const texts = await Promise.all(ids.map((id) => getText(before.url, id)));
  await before.kill();
  const after = await start(path, 'fail');
  expect(await Promise.all(ids.map((id) => getText(after.url, id)))).toEqual(texts);
  const answered = await post(after.url, say('yes', { taskId: asked.task.id }));
  expect(answered).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED');
});

for (const [policy, state] of [
  ['fail', 'TASK_STATE_FAILED'],
  ['run-again', 'TASK_STATE_COMPLETED'],
] as const) {
  test(`a turn cut off by kill -9 is resolved by policy (${policy}), and its stream continues`, async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'store.db');
    const before = await start(path, policy);
    const stream = await fetch(`${before.url}/message:stream`, {
      method: 'POST',
      headers,
      body: JSON.stringify(say('hang')),
    });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes('id: 5\n')) seen += (await reader?.read())?.value ?? '';
    const id = /"id":"([^"]+)"/.exec(seen)?.[1] ?? '';
    await before.kill();
    const after = await start(path, policy);
    const rest = await fetch(`${after.url}/tasks/${id}:subscribe`, {
      headers: { ...headers, 'last-event-id': '5' },
    });
    const frames = (await rest.text()).split('\n\n').filter((frame) => frame.startsWith('id:'));
    const numbers = frames.map((frame) => Number(/^id: (\d+)/.exec(frame)?.[1]));
    expect(numbers).toEqual(numbers.map((_, index) => index + 6));
    expect(frames.at(-1)).toContain(state);
    const task = JSON.parse(await getText(after.url, id)) as { metadata?: object };
    if (policy === 'fail') expect(task.metadata).toEqual({ error_type: 'interrupted' });
  });
}

test('a cancel that was stored holds after kill -9: the turn is not run again', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  const before = await start(path, 'run-again');
  const { id } = (
    await post(before.url, { ...say('hang'), configuration: { returnImmediately: true } })
  ).task;
  await expect.poll(() => getText(before.url, id), { timeout: 20_000 }).toContain('"0 1 2 ');
  // The agent does not end, so this is not answered before the server dies.
  const cancel = fetch(`${before.url}/tasks/${id}:cancel`, { method: 'POST', headers, body: '{}' });
  const answer = cancel.then(
    () => 'answered',
    () => 'cut off',
  );
  await expect
    .poll(() => before.said, { timeout: 20_000 })
    .toEqual([{ attempt: 1 }, { told: 'cancel' }]);
  await before.kill();
  expect(await answer).toBe('cut off');
  const after = await start(path, 'run-again');
  await expect
    .poll(async () => JSON.parse(await getText(after.url, id)) as object, { timeout: 20_000 })
    .toMatchObject({ status: { state: 'TASK_STATE_CANCELED' }, artifacts: [{ artifactId: 'a' }] });
  expect(after.said).toEqual([]);
});
