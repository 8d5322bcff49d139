/** Every refusal is JSON, also of what never becomes a request: over HTTP and over HTTPS. */
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openServer } from '../../src/http/http-server.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { makeCertificate } from '../certificate.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { actor } from './support/agents.ts';
import { dialects } from './support/dialects.ts';

const own = makeCertificate({
  commonName: 'localhost',
  alternativeNames: ['DNS:localhost', 'IP:127.0.0.1'],
  isAuthority: true,
});
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeAll(async () => {
  directory = await temporaryDirectory();
  writeFileSync(join(directory.path, 'certificate.pem'), own.certificate);
  writeFileSync(join(directory.path, 'key.pem'), own.key);
});
afterAll(() => directory[Symbol.asyncDispose]());

type Scheme = 'http' | 'https';
const open: Serving[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/** What makes a server one of the scheme. */
function of(scheme: Scheme): Pick<ServeOptions, 'tls'> {
  if (scheme === 'http') return {};
  return {
    tls: {
      certificate: join(directory.path, 'certificate.pem'),
      key: join(directory.path, 'key.pem'),
    },
  };
}

async function start(scheme: Scheme, options: ServeOptions = {}): Promise<number> {
  const server = await serve(actor, { drainMs: 0, ...options, ...of(scheme) });
  open.push(server);
  return server.port;
}

const unreadable = [
  ['headers that are too large', 431, `X-Large: ${'x'.repeat(20_000)}\r\n`],
  ['invalid HTTP', 400, 'no header at all\r\n'],
  ['an expectation that nobody meets', 417, 'Expect: miracles\r\nConnection: close\r\n'],
  ['headers that come too slowly', 408, 'X-Slow: '],
] as const;

describe.each(['http', 'https'] as const)('%s', (scheme) => {
  test.each(unreadable)('%s: %d', async (_name, status, header) => {
    const connections = status === 408 ? { headersTimeoutMs: 100 } : {};
    const port = await start(scheme, { connections });
    const end = status === 408 ? '' : '\r\n';
    const text = `GET / HTTP/1.1\r\nHost: localhost\r\n${header}${end}`;
    expectJson(await exchange(scheme, port, text), status);
  });

  test('a request without a Host header: 400', async () => {
    const port = await start(scheme);
    expectJson(await exchange(scheme, port, 'GET / HTTP/1.1\r\n\r\n'), 400);
  });

  test('a request for a tunnel: 405', async () => {
    const port = await start(scheme);
    const text = 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n';
    expectJson(await exchange(scheme, port, text), 405);
  });

  test('a CONNECT request that is aborted has no effect on others', async () => {
    const port = await start(scheme);
    const socket = connectTo(scheme, port);
    socket.on('error', () => undefined);
    const ask = 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n';
    socket.write(ask.repeat(50), () => {
      if (scheme === 'http') socket.resetAndDestroy();
      else socket.destroy();
    });
    await new Promise((resolve) => void socket.once('close', resolve));
    expectJson(await exchange(scheme, port, ask), 405);
  });

  test('a server that does not serve yet: 503', async () => {
    const server = await openServer({ isAuthenticated: false, ...of(scheme) });
    const text = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answer = await exchange(scheme, server.port, text);
    await server.close(async () => undefined);
    expectJson(answer, 503);
  });

  test('an answer under way is not mixed with the refusal of what follows it', async () => {
    const port = await start(scheme);
    const [rpc] = dialects;
    if (rpc === undefined) throw new Error('no dialect');
    const { body = '' } = rpc.request('sendStreamingMessage', { text: 'hold' });
    const socket = connectTo(scheme, port);
    const received = untilClosed(socket);
    socket.once('data', () => void socket.write('this is not HTTP\r\n\r\n'));
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    const answer = await received;
    expect(answer).toContain('HTTP/1.1 200');
    expect(answer).not.toContain('HTTP/1.1 400');
  });
});

/** An answer in JSON that says its status again in its body, as the other errors of REST do. */
function expectJson(answer: string, status: number): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head.split(' ')[1]).toBe(String(status));
  expect(head.toLowerCase()).toContain('content-type: application/json');
  expect(JSON.parse(body)).toEqual({
    error: {
      code: status,
      status: expect.any(String),
      message: expect.any(String),
      details: expect.any(Array),
    },
  });
}

/** Writes as it is told, and reads until the connection ends. */
function exchange(scheme: Scheme, port: number, text: string): Promise<string> {
  const socket = connectTo(scheme, port);
  socket.write(text);
  return untilClosed(socket);
}

function connectTo(scheme: Scheme, port: number): Socket {
  const at = { port, host: '127.0.0.1' };
  return scheme === 'http' ? connect(at) : connectTls({ ...at, ca: own.certificate });
}

function untilClosed(socket: Socket): Promise<string> {
  let received = '';
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      received += piece.toString();
    });
    socket.once('close', () => resolve(received));
  });
}
