import { once } from 'node:events';
import { Agent as Connections, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { agent, chunk, working } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
import { openMemoryReplicas } from '../store/index.ts';
import { serve, type Serving } from './index.ts';

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
const body = JSON.stringify({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
});

const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x');
});

/** A connection that stays open, and all that came over it. */
async function open({ port }: Serving): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => (text += piece.toString()));
  await once(socket, 'connect');
  return { socket, received: () => text };
}

/** Waits until the port takes no connections any more. */
const refused = ({ port }: Serving): Promise<void> =>
  expect
    .poll(() =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        () => 'open',
        () => 'closed',
      ),
    )
    .toBe('closed');

const health = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n';

const closing: Promise<void>[] = [];
afterAll(() => Promise.all(closing));

test('a server whose /ready is polled delays its shutdown by default, others do not', async () => {
  const unwatched = await serve(echo);
  await fetch(`http://127.0.0.1:${unwatched.port}/ready`);
  const done = unwatched.close();
  await refused(unwatched);
  await done;
  const watched = await serve(echo);
  const ready = async () => (await fetch(`http://127.0.0.1:${watched.port}/ready`)).status;
  expect([await ready(), await ready()]).toEqual([200, 200]);
  const closed = watched.close();
  closing.push(closed);
  expect(await ready()).toBe(503);
});

test('during the notice every response closes its connection, also one that was under way', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* () {
    await gate.promise;
    yield artifact('done');
  });
  const server = await serve(slow, { noticeMs: 1_000 });
  const url = `http://127.0.0.1:${server.port}`;
  expect((await fetch(`${url}/health`)).headers.get('connection')).toBe('keep-alive');
  const sent = fetch(`${url}/message:send`, { method: 'POST', headers, body });
  await expect.poll(() => server.router.engine.runningTurns).toBe(1);
  const closed = server.close();
  for (const path of ['/ready', '/health', '/nothing', '/.well-known/agent-card.json']) {
    expect((await fetch(`${url}${path}`)).headers.get('connection')).toBe('close');
  }
  gate.resolve();
  const answer = await sent;
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  await closed;
});

test('a request that is on its way on an idle connection when the port closes is answered', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* () {
    await gate.promise;
    yield artifact('done');
  });
  const server = await serve(slow);
  const { socket, received } = await open(server);
  socket.write(health);
  await expect.poll(received).toContain('{"status":"ok"}');
  await streaming(server);
  const closed = server.close();
  await refused(server);
  socket.write(health);
  await once(socket, 'end');
  gate.resolve();
  expect(received().match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  expect(received().toLowerCase()).toContain('connection: close');
  await closed;
});

for (const noticeMs of [0, 300]) {
  test(`with a notice of ${noticeMs} ms, clients that send one request after the other are not reset`, async () => {
    const server = await serve(echo, { noticeMs });
    const failures: string[] = [];
    let answered = 0;
    const client = async (): Promise<void> => {
      const connections = new Connections({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        const code = await new Promise<string>((resolve) => {
          const options = { port: server.port, path: '/message:send', method: 'POST', headers };
          const call = request(
            { ...options, host: '127.0.0.1', agent: connections },
            (response) => {
              response.resume().once('end', () => resolve(String(response.statusCode)));
            },
          );
          call.once('error', (error: NodeJS.ErrnoException) =>
            resolve(error.code ?? error.message),
          );
          call.end(body);
        });
        if (code === '200') answered += 1;
        else if (code === 'ECONNREFUSED') return connections.destroy();
        else failures.push(code);
      }
    };
    const clients = Array.from({ length: 30 }, client);
    await expect.poll(() => answered).toBeGreaterThan(300);
    await server.close();
    await Promise.all(clients);
    expect(failures).toEqual([]);
  });
}

/** Streams from an agent that waits for the gate after its first event. */
async function streaming(server: Serving): Promise<Response> {
  const url = `http://127.0.0.1:${server.port}/message:stream`;
  const response = await fetch(url, { method: 'POST', headers, body });
  await expect.poll(() => server.router.engine.runningTurns).toBe(1);
  return response;
}

test('a stream whose turn ends while the server drains ends with its last event', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* () {
    yield working();
    await gate.promise;
    yield artifact('done');
  });
  const server = await serve(slow);
  const stream = await streaming(server);
  const closed = server.close();
  await refused(server);
  gate.resolve();
  const text = await stream.text();
  expect(text).toContain('TASK_STATE_COMPLETED');
  expect(text).not.toContain('the server is shutting down');
  await closed;
});

test('a stream whose turn does not end in time gets a comment, and continues at another replica', async () => {
  const [first, second] = openMemoryReplicas(2);
  const patient = agent({ name: 'patient', onInterrupted: 'run-again' }, async function* (turn) {
    yield working(`attempt ${turn.attempt}`);
    if (turn.attempt === 1)
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
    turn.signal.throwIfAborted();
    yield artifact('done');
  });
  if (first === undefined || second === undefined) throw new Error('two stores were expected');
  const tuning = { drainMs: 100, leaseMs: 200, pollIntervalMs: 50 };
  const leaving = await serve(patient, { ...tuning, store: first });
  await using staying = await serve(patient, { ...tuning, store: second });
  const stream = await streaming(leaving);
  await leaving.close();
  const text = await stream.text();
  expect(text).toMatch(/: the server is shutting down; subscribe again to continue\n\n$/);
  const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '';
  const id = /"id":"([^"]+)"/.exec(text)?.[1] ?? '';
  const resumed = await fetch(`http://127.0.0.1:${staying.port}/tasks/${id}:subscribe`, {
    headers: { ...headers, 'last-event-id': last },
  });
  const rest = await resumed.text();
  expect(Number(/^id: (\d+)$/m.exec(rest)?.[1])).toBe(Number(last) + 1);
  expect(rest).toContain('TASK_STATE_COMPLETED');
});

test('a server that stops answers what it has started, and takes nothing new', async () => {
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
  await refused(server);
  gate.resolve();
  expect(await (await sent).json()).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED');
  await closed;
});

test('a turn that does not end in time fails as interrupted, and its caller gets the error', async () => {
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

test('a slow reader does not delay others, and gets everything once it reads', async () => {
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
  expect(numbers).toEqual(Array.from({ length: count + 3 }, (_, index) => index + 1));
});
