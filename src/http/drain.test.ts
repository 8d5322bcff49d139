import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { agent, chunk } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
import { serve } from './index.ts';

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
const body = JSON.stringify({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
});

test('a server that stops answers what it has begun, and takes nothing new', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* () {
    await gate.promise;
    yield artifact('done');
  });
  const server = await serve(slow, { drainMs: 60_000 });
  const url = `http://127.0.0.1:${server.port}`;
  const sent = fetch(`${url}/message:send`, { method: 'POST', headers, body });
  await expect.poll(() => server.router.engine.runningTurns).toBe(1);
  const closed = server.close();
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  gate.resolve();
  expect(await (await sent).json()).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED');
  await closed;
});

test('a turn that does not end in time is failed as interrupted, and its caller is told', async () => {
  const endless = agent({ name: 'endless' }, async function* (turn) {
    await new Promise((_resolve, reject) => {
      turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error));
    });
    yield artifact('never');
  });
  const server = await serve(endless, { drainMs: 10 });
  const sent = fetch(`http://127.0.0.1:${server.port}/message:send`, {
    method: 'POST',
    headers,
    body,
  });
  await expect.poll(() => server.router.engine.runningTurns).toBe(1);
  await server.close();
  expect(await (await sent).json()).toMatchObject({
    task: { status: { state: 'TASK_STATE_FAILED' }, metadata: { error_type: 'interrupted' } },
  });
});

test('a reader that does not read holds up nobody, and then gets everything', async () => {
  const count = 5_000;
  const chatty = agent({ name: 'chatty' }, async function* () {
    for (let index = 0; index < count; index += 1) {
      yield chunk('a', `${'x'.repeat(1_000)} `, { append: index > 0 });
    }
  });
  await using server = await serve(chatty);
  const socket = connect(server.port, '127.0.0.1');
  const request = [
    'POST /message:stream HTTP/1.1',
    'Host: localhost',
    'A2A-Version: 1.0',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.pause();
  socket.write(`${request.join('\r\n')}\r\n\r\n${body}`);
  // The agent runs to its end although nobody takes what it says.
  await expect
    .poll(
      async () => {
        const response = await fetch(`http://127.0.0.1:${server.port}/tasks`, { headers });
        const { tasks } = (await response.json()) as { tasks: { status: { state: string } }[] };
        return tasks[0]?.status.state;
      },
      { timeout: 20_000 },
    )
    .toBe('TASK_STATE_COMPLETED');
  let text = '';
  for await (const piece of socket) text += String(piece);
  const numbers = [...text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: count + 2 }, (_, index) => index + 1));
});
