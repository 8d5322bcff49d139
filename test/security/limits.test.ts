/** §13.4: what one caller, one connection and one request may take of the server. */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { systemScheduler } from '../../src/tasks/index.ts';
import { actor } from './support/agents.ts';
import { bearer, tokenAuthenticator } from './support/callers.ts';
import {
  type Answer,
  codeOf,
  type Dialect,
  dialects,
  resultOf,
  send,
  type WireRequest,
} from './support/dialects.ts';
import { MemoryLog } from './support/log.ts';

const open: Serving[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(options: ServeOptions): Promise<string> {
  const server = await serve(actor, { drainMs: 0, ...options });
  open.push(server);
  return `http://127.0.0.1:${server.port}`;
}

function expectLimited(dialect: Dialect, answer: Answer): void {
  expect([answer.status, codeOf(answer)]).toEqual([429, 'RATE_LIMITED']);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  if (dialect.isRpc) expect(answer.body).toMatchObject({ jsonrpc: '2.0' });
}

describe.each(dialects)('$name', (dialect) => {
  test('requests beyond the rate are refused with 429 and when to come again; others continue', async () => {
    // A clock that stands still gives no further tokens.
    let now = Date.now();
    const clock = { now: () => now };
    const url = await start({
      auth: await tokenAuthenticator(),
      callerLimits: { requestsPerSecond: 0.5, burst: 2, clock },
    });
    const alice = await bearer({ sub: 'alice' });
    const ask = (token: typeof alice) => send(url, dialect.request('listTasks'), token);
    resultOf(dialect, await ask(alice));
    resultOf(dialect, await ask(alice));
    const refused = await ask(alice);
    expectLimited(dialect, refused);
    expect(refused.headers.get('retry-after')).toBe('2');
    resultOf(dialect, await ask(await bearer({ sub: 'bob' })));
    now += 2_000;
    resultOf(dialect, await ask(alice));
  });

  test('streams beyond the limit are refused, and a place comes back when one closes', async () => {
    const url = await start({ callerLimits: { openStreams: 1 } });
    const { path, headers, body = '' } = dialect.request('sendStreamingMessage', { text: 'hold' });
    const gone = new AbortController();
    const first = await fetch(url + path, { method: 'POST', headers, body, signal: gone.signal });
    expect(first.headers.get('content-type')).toContain('text/event-stream');
    expectLimited(dialect, await send(url, dialect.request('sendStreamingMessage')));
    // What does not stream is another matter.
    resultOf(dialect, await send(url, dialect.request('listTasks')));
    gone.abort();
    await expect
      .poll(async () => (await send(url, dialect.request('sendStreamingMessage'))).status)
      .toBe(200);
  });

  test('open streams take no place of calls: a client with all its streams open can still cancel', async () => {
    const log = new MemoryLog();
    const url = await start({
      callerLimits: { concurrentRequests: 2, openStreams: 3 },
      logger: log,
    });
    const gone = new AbortController();
    const contextId = 'held';
    // Kept: fetch closes the stream of a response that is collected.
    const open: Response[] = [];
    for (let count = 0; count < 3; count += 1) {
      const {
        path,
        headers,
        body = '',
      } = dialect.request('sendStreamingMessage', {
        text: 'hold',
        contextId: `${contextId}-${count}`,
      });
      const init = { method: 'POST', headers, body, signal: gone.signal };
      open.push(await fetch(url + path, init));
    }
    for (let count = 0; count < 50; count += 1) {
      expectLimited(dialect, await send(url, dialect.request('sendStreamingMessage')));
    }
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [dialectOfLists] = dialects;
    if (dialectOfLists === undefined) throw new Error('no dialect');
    const listed = resultOf(
      dialectOfLists,
      await send(url, dialectOfLists.request('listTasks')),
    ) as { tasks: { id: string }[] };
    expect(listed.tasks).toHaveLength(3);
    for (const { id } of listed.tasks) {
      resultOf(dialect, await send(url, dialect.request('cancelTask', { id })));
    }
    // One line says that it started; the rest are summarised later.
    expect(log.audited('denied')).toMatchObject([{ event: 'audit.limited', refused: 1 }]);
    gone.abort();
  });

  test('requests in flight beyond the limit are refused, and a place comes back', async () => {
    const url = await start({ callerLimits: { concurrentRequests: 1 } });
    const gone = new AbortController();
    const { path, headers, body = '' } = dialect.request('sendMessage', { text: 'hold' });
    const held = fetch(url + path, { method: 'POST', headers, body, signal: gone.signal }).catch(
      () => undefined,
    );
    await expect.poll(() => open[0]?.router.engine.runningTurns).toBe(1);
    expectLimited(dialect, await send(url, dialect.request('listTasks')));
    gone.abort();
    await held;
    await expect.poll(async () => (await send(url, dialect.request('listTasks'))).status).toBe(200);
  });

  test('bodies that are too large, too deep or encoded are refused as what they are', async () => {
    const url = await start({ limits: { maxBodyBytes: 2_000, maxJsonDepth: 20 } });
    const request = dialect.request('sendMessage');
    const status = async (body: string, more: Record<string, string> = {}) => {
      const answer = await send(url, { ...request, body }, more);
      return [answer.status, codeOf(answer)];
    };
    const large = dialect.request('sendMessage', { text: 'x'.repeat(2_000) }).body ?? '';
    expect(await status(large)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const deep = '['.repeat(30) + ']'.repeat(30);
    expect(await status(deep)).toEqual([dialect.isRpc ? 200 : 400, 'PARSE_ERROR']);
    expect(await status(request.body ?? '', { 'content-encoding': 'gzip' })).toEqual([
      415,
      'UNSUPPORTED_ENCODING',
    ]);
  });

  test('a body that is not UTF-8 is refused, and no other text is read from it', async () => {
    const url = await start({});
    const { method, path, headers, body } = dialect.request('sendMessage', { text: 'caf#' });
    const bytes = Buffer.from(body ?? '');
    bytes[bytes.indexOf('#')] = 0xe9;
    const response = await fetch(`${url}${path}`, { method, headers: { ...headers }, body: bytes });
    expect(response.status).toBe(dialect.isRpc ? 200 : 400);
    expect(await response.text()).toContain('the body is not valid UTF-8');
  });

  test('unfinished bodies hold a bounded number of bytes, and one address cannot keep others out', async () => {
    const log = new MemoryLog();
    const url = await start({ limits: { maxUnfinishedBodyBytes: 100_000 }, logger: log });
    const request = dialect.request('sendMessage', { text: 'x'.repeat(20_000) });
    const greedy = Array.from({ length: 20 }, () => unfinished(url, request, 9_000));
    // Eleven bodies of 9,000 bytes fit; the others are answered at once.
    const refused = () => greedy.map(({ answer }) => answer()).filter((text) => text !== '');
    await expect.poll(() => refused().length).toBe(9);
    for (const text of refused()) {
      expect(text).toContain('HTTP/1.1 503');
      expect(text.toLowerCase()).toContain('retry-after: 1');
      expect(text).toContain('UNAVAILABLE');
    }
    expect(codeOf(await send(url, request))).toBe('UNAVAILABLE');
    const other = await completed(url, request, '127.0.0.2');
    expect(other).toContain('HTTP/1.1 200');
    expect(log.audited('denied').map(({ event }) => event)).toContain('audit.bodies_over_budget');
    for (const { socket } of greedy) socket.destroy();
    await expect.poll(async () => (await send(url, request)).status).toBe(200);
  });
});

test('a rate over all replicas is counted in the store they share', async () => {
  const store = openMemory();
  // Both stand in the same window however slow the machine is.
  const now = Math.floor(Date.now() / 60_000) * 60_000 + 1_000;
  const scheduler = { ...systemScheduler, now: () => now };
  const options = { store, scheduler, clusterRate: { limit: 4 }, auth: await tokenAuthenticator() };
  const urls = [await start(options), await start(options)];
  const [dialect] = dialects;
  if (dialect === undefined) throw new Error('no dialect');
  const alice = await bearer({ sub: 'alice' });
  const statuses: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (const url of urls) {
      statuses.push((await send(url, dialect.request('listTasks'), alice)).status);
    }
  }
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  const refused = await send(urls[0] ?? '', dialect.request('listTasks'), alice);
  expect(refused.headers.get('retry-after')).toBe('59');
  for (const server of open.splice(0)) await server.close();
  await store.close();
});

test('anonymous callers are limited by address, before their body is read', async () => {
  const clock = { now: () => 0 };
  const url = await start({ callerLimits: { requestsPerSecond: 1, burst: 1, clock } });
  expect((await fetch(`${url}/tasks`, { headers: { 'a2a-version': '1.0' } })).status).toBe(200);
  const answer = await raw(
    url,
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n',
    '429',
  );
  expect(answer).toContain('429');
});

test('headers that come too slowly end the connection', async () => {
  const url = await start({ connections: { headersTimeoutMs: 100 } });
  const answer = await raw(url, 'POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', undefined);
  expect(answer).toContain('408');
});

test('a connection that says nothing at all is closed', async () => {
  const url = await start({ connections: { headersTimeoutMs: 100, requestTimeoutMs: 100 } });
  expect(await raw(url, '', undefined)).toContain('408');
});

test('a body that comes too slowly is answered with 408, and its connection ends', async () => {
  const url = await start({ limits: { bodyTimeoutMs: 50 } });
  const answer = await raw(
    url,
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    undefined,
  );
  expect(answer).toContain('HTTP/1.1 408');
  expect(answer).toContain('"jsonrpc":"2.0"');
});

test('a body that comes byte by byte is bounded as a whole, not by its pauses', async () => {
  const url = await start({ limits: { bodyTimeoutMs: 200 } });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{',
  );
  const dribble = setInterval(() => socket.write(' '), 20);
  const text = await untilClosed(socket);
  clearInterval(dribble);
  expect(text).toContain('HTTP/1.1 408');
});

test('headers that are too large are refused by the server itself', async () => {
  const url = await start({});
  const answer = await raw(
    url,
    `GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`,
    undefined,
  );
  expect(answer).toContain('HTTP/1.1 431');
  expect(answer).toContain('"code":431');
});

test('connections beyond the limit are closed at once', async () => {
  const url = await start({ connections: { max: 1 } });
  const port = Number(new URL(url).port);
  const first = connect(port, '127.0.0.1');
  await new Promise((resolve) => first.once('connect', resolve));
  const second = connect(port, '127.0.0.1');
  await new Promise<void>((resolve) => {
    second.on('error', () => undefined);
    second.once('close', () => resolve());
  });
  first.destroy();
});

test('a caller that reads nothing does not delay others, and holds one permit', async () => {
  const chatty = agent({ name: 'chatty' }, async function* () {
    for (let index = 0; index < 200; index += 1) {
      yield { kind: 'working', parts: [{ text: 'x'.repeat(50_000) }] };
    }
  });
  const server = await serve(chatty, { callerLimits: { openStreams: 1 }, drainMs: 0 });
  open.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  const [rpc] = dialects;
  if (rpc === undefined) throw new Error('no dialect');
  const { body = '' } = rpc.request('sendStreamingMessage');
  const socket = connect(server.port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(
    `POST / HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await expect
    .poll(async () => (await send(url, rpc.request('listTasks'))).text, { timeout: 20_000 })
    .toContain('TASK_STATE_COMPLETED');
  expectLimited(rpc, await send(url, rpc.request('sendStreamingMessage')));
  socket.destroy();
});

/** A request as it goes over the wire. */
function wireOf({ path, headers, body = '' }: WireRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Sends a request of which only some bytes of the body arrive. */
function unfinished(
  url: string,
  request: WireRequest,
  bytes: number,
): { readonly socket: Socket; readonly answer: () => string } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const text = wireOf(request);
  socket.write(text.slice(0, text.indexOf('\r\n\r\n') + 4 + bytes));
  let received = '';
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => (received += piece.toString()));
  return { socket, answer: () => received };
}

function completed(url: string, request: WireRequest, localAddress: string): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
  socket.write(wireOf(request));
  return untilClosed(socket, 'HTTP/1.1 ');
}

/** Writes as it is told, and reads until the text is there or the connection ends. */
async function raw(url: string, text: string, until: string | undefined): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(text);
  return untilClosed(socket, until);
}

/** All that comes until the connection ends, be it by a reset, or until a text has come. */
function untilClosed(socket: Socket, until?: string): Promise<string> {
  let received = '';
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      received += piece.toString();
      if (until !== undefined && received.includes(until)) socket.destroy();
    });
    socket.once('close', () => resolve(received));
  });
}

test('clients that guess credentials are blocked before they are authenticated', async () => {
  const log = new MemoryLog();
  const url = await start({
    auth: await tokenAuthenticator(),
    callerLimits: { failuresPerMinute: 3, clock: { now: () => 0 } },
    logger: log,
  });
  const [, rest] = dialects;
  if (rest === undefined) throw new Error('no dialect');
  const statuses: number[] = [];
  for (let guess = 0; guess < 6; guess += 1) {
    const answer = await send(url, rest.request('listTasks'), { authorization: `Bearer ${guess}` });
    statuses.push(answer.status);
  }
  expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
  const right = await send(url, rest.request('listTasks'), await bearer({ sub: 'alice' }));
  expectLimited(rest, right);
  expect(log.audited('denied').map(({ code }) => code)).toContain('RATE_LIMITED');
});
