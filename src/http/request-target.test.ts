import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
import { serve, type Serving } from './index.ts';

const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x');
});

let server: Serving;
beforeAll(async () => {
  server = await serve(echo);
});
afterAll(() => server.close());

function statusOf(path: string, host = 'localhost'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { port } = server;
    const headers = { 'a2a-version': '1.0', host };
    request({ port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

test.each([
  ['http://localhost/health', 200],
  ['HTTPS://localhost:8000/health?x', 200],
  ['http://localhost/tasks?pageSize=1', 200],
  ['http://localhost/nowhere', 404],
  ['http://localhost', 405],
  ['http://localhost?x', 405],
  ['ftp://localhost/health', 404],
  ['localhost', 400],
])('RFC 9112 3.2.2: a target may name the server: %s', async (target, status) => {
  expect(await statusOf(target)).toBe(status);
});

test('RFC 9112 3.2.2: the name in the target counts, not the one in Host', async () => {
  expect(await statusOf('http://localhost/health', 'evil.example')).toBe(200);
  expect(await statusOf('http://evil.example/health', 'localhost')).toBe(403);
});

test.each([
  ['no Host', [], 400],
  ['one Host', ['Host: localhost'], 200],
  ['two of the same', ['Host: localhost', 'Host: localhost'], 400],
  ['two that differ', ['Host: localhost', 'hOST: evil.example'], 400],
])('RFC 9112 3.2: a request with %s is answered as it must be', async (_, hosts, status) => {
  const socket = connect(server.port, '127.0.0.1');
  const lines = ['GET /health HTTP/1.1', ...hosts, 'Connection: close', '', ''];
  socket.write(lines.join('\r\n'));
  expect(await text(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});
