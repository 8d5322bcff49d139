import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PlainConnections } from './plain-connections.ts';
import type { PlainRequest } from './plain-request.ts';
import type { PlainResponse } from './plain-response.ts';

/** A server whose requests wait here until they are answered. */
let server: Server;
let connections: PlainConnections;
let asked: { readonly request: PlainRequest; readonly response: PlainResponse }[];
beforeEach(async () => {
  asked = [];
  server = createServer({ keepAliveTimeout: 100, headersTimeout: 100, requestTimeout: 100 });
  connections = new PlainConnections(server, (request, response) => {
    asked.push({ request, response });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  connections.closeAll();
  server.closeAllConnections();
  server.close();
});

/** Somebody at the other end, with all that was heard there. */
class Caller {
  readonly socket: Socket;
  heard = '';
  isClosed = false;

  constructor() {
    this.socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    this.socket.setEncoding('utf8').on('data', (text: string) => (this.heard += text));
    this.socket.on('close', () => (this.isClosed = true));
  }

  ask(path: string): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  }
}

async function nth(count: number): Promise<{ request: PlainRequest; response: PlainResponse }> {
  await expect.poll(() => asked.length).toBe(count);
  return asked[count - 1] as { request: PlainRequest; response: PlainResponse };
}

test('requests are answered in their order, also those that came early', async () => {
  const caller = new Caller();
  caller.ask('/1');
  const first = await nth(1);
  const { bytesRead } = first.request.socket;
  caller.ask('/2');
  await expect.poll(() => first.request.socket.bytesRead).toBe(bytesRead * 2);
  expect(asked).toHaveLength(1);
  first.response.end('one');
  const second = await nth(2);
  expect(second.request.url).toBe('/2');
  second.response.end('two');
  await expect.poll(() => caller.heard).toMatch(/one[^]+two$/);
});

test('an early request that is not plain goes to node:http, with all of it', async () => {
  server.on('request', (request, response) => response.end(`by node: ${request.method}`));
  const caller = new Caller();
  caller.ask('/1');
  const first = await nth(1);
  const { bytesRead } = first.request.socket;
  const begun = 'HEAD / HTTP/1.1\r\nHost: localhost\r\n';
  caller.socket.write(begun);
  await expect.poll(() => first.request.socket.bytesRead).toBe(bytesRead + begun.length);
  first.response.end('one');
  caller.socket.write('\r\nPOST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n');
  await expect.poll(() => caller.heard).toMatch(/one[^]+by node: POST$/);
  expect(asked).toHaveLength(1);
});

test('of what comes early, no more is read than may wait', async () => {
  const caller = new Caller();
  caller.ask('/1');
  const { request, response } = await nth(1);
  caller.socket.write(
    `POST /2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(999_999)}`,
  );
  await expect.poll(() => request.socket.isPaused()).toBe(true);
  expect(request.socket.bytesRead).toBeLessThan(300_000);
  server.on('request', (incoming, outgoing) => {
    incoming.resume().on('end', () => outgoing.end('two'));
  });
  response.end('one');
  caller.socket.write('x');
  await expect.poll(() => caller.heard).toMatch(/one[^]+two$/);
});

test.each(['destroy', 'end'] as const)(
  'a caller that leaves early is noticed: %s',
  async (leave) => {
    const caller = new Caller();
    caller.ask('/1');
    const { response } = await nth(1);
    caller.ask('/2');
    const closed = once(response, 'close');
    caller.socket[leave]();
    await closed;
    expect(asked).toHaveLength(1);
  },
);

test('an answer closes when its caller leaves, and takes no more', async () => {
  const caller = new Caller();
  caller.ask('/');
  const { response } = await nth(1);
  const closed = once(response, 'close');
  caller.socket.destroy();
  await closed;
  expect(response.destroyed).toBe(true);
  expect(response.write('more')).toBe(false);
  response.end('still more');
  expect(response.writableEnded).toBe(false);
});

test('whoever does not read is waited for', async () => {
  const caller = new Caller();
  caller.socket.pause();
  caller.ask('/');
  const { response } = await nth(1);
  const piece = 'x'.repeat(100_000);
  let written = 0;
  while (response.write(piece)) written += 1;
  expect(response.writableNeedDrain).toBe(true);
  const drained = once(response, 'drain');
  caller.socket.resume();
  await drained;
  response.end();
  await expect.poll(() => caller.heard.endsWith('0\r\n\r\n')).toBe(true);
  expect(caller.heard.split('x')).toHaveLength((written + 1) * piece.length + 1);
});

test('whoever asks on and on and does not read is not listened to', async () => {
  const answer = 'x'.repeat(1_000_000);
  const caller = new Caller();
  caller.socket.pause();
  let answered = 0;
  for (; answered < 100; answered += 1) {
    caller.ask('/');
    const { request, response } = await nth(answered + 1);
    response.end(answer);
    if (request.socket.writableNeedDrain) break;
  }
  expect(answered).toBeLessThan(100);
  const { socket } = (await nth(answered + 1)).request;
  const { bytesRead } = socket;
  caller.ask('/');
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(bytesRead);
  expect(asked).toHaveLength(answered + 1);
  caller.socket.resume();
  (await nth(answered + 2)).response.end('the last');
  await expect.poll(() => caller.heard.endsWith('the last')).toBe(true);
});

test('whoever says nothing is refused as node:http refuses it', async () => {
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => socket.end(code));
  const caller = new Caller();
  await expect.poll(() => caller.isClosed).toBe(true);
  expect(caller.heard).toBe('ERR_HTTP_REQUEST_TIMEOUT');
});

test('an idle connection is closed without a word, one that is being answered is not', async () => {
  const [idle, busy] = [new Caller(), new Caller()];
  idle.ask('/1');
  (await nth(1)).response.end('one');
  busy.ask('/2');
  const { response, request } = await nth(2);
  // Twice the time, as the socket sees it.
  for (let times = 0; times < 2; times += 1) await once(request.socket, 'timeout');
  await expect.poll(() => idle.isClosed).toBe(true);
  expect(idle.heard).toMatch(/one$/);
  response.end('two');
  await expect.poll(() => busy.heard).toMatch(/two$/);
}, 20_000);

test('a server that stops closes what is idle, and the rest with its answers', async () => {
  const [idle, busy] = [new Caller(), new Caller()];
  idle.ask('/1');
  (await nth(1)).response.end('one');
  busy.ask('/2');
  const { response } = await nth(2);
  connections.closeIdle();
  await expect.poll(() => idle.isClosed).toBe(true);
  expect(busy.isClosed).toBe(false);
  response.end('two');
  await expect.poll(() => busy.isClosed).toBe(true);
  expect(busy.heard).toMatch(/\r\nConnection: close\r\n[^]+two$/);
});

test('a head is sent once, and no value can begin a field of its own', async () => {
  const caller = new Caller();
  caller.ask('/');
  const { response } = await nth(1);
  expect(() => response.writeHead(200, { 'x-y': 'a\r\nset-cookie: b' })).toThrow(/x-y/);
  expect(() => response.writeHead(200, { 'x y': 'a' })).toThrow(/x y/);
  expect(response.headersSent).toBe(false);
  response.writeHead(200, { 'x-y': 'a' });
  expect(() => response.writeHead(200)).toThrow(/sent already/);
  expect(() => response.setHeader('a', 'b')).toThrow(/sent already/);
  response.end();
});
