import { request as httpRequest } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { agent } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
import { serve, type ServeOptions, type Serving } from './index.ts';

const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x');
});

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}): Promise<number> {
  server = await serve(echo, options);
  return server.port;
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** As a browser would send it: fetch does not let `Host` and `Origin` be set. */
function ask(
  port: number,
  options: { method?: string; path?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Got> {
  const { method = 'GET', path = '/tasks', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { port, host: '127.0.0.1', method, path, headers: { 'a2a-version': '1.0', ...headers } },
      (response) => {
        let text = '';
        response.on('data', (piece: Buffer) => (text += piece.toString()));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const body = JSON.stringify({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] },
});
const page = 'https://app.example.com';
const preflight = {
  method: 'OPTIONS',
  path: '/message:send',
  headers: {
    origin: page,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'a2a-version,content-type,authorization',
  },
};

test('by default no page may call: neither the question nor the call itself gets through', async () => {
  const port = await start();
  const asked = await ask(port, preflight);
  expect(asked.headers).not.toHaveProperty('access-control-allow-origin');
  // The simplest request that a page can make without asking: no headers of its own, no type.
  const simple = await ask(port, {
    method: 'POST',
    path: '/message:send?A2A-Version=1.0',
    headers: { origin: page },
    body,
  });
  expect(simple.status).toBe(403);
  const rpc = await ask(port, { method: 'POST', path: '/', headers: { origin: page }, body: '{}' });
  expect(rpc.status).toBe(403);
  expect(JSON.parse(rpc.text)).toMatchObject({ jsonrpc: '2.0', error: { code: -32061 } });
  const opaque = await ask(port, { method: 'POST', path: '/', headers: { origin: 'null' } });
  expect(opaque.status).toBe(403);
  expect((await ask(port)).text).toContain('"tasks":[]');
});

test('the card and the keys of webhooks are open to every page', async () => {
  const port = await start();
  const card = await ask(port, {
    path: '/.well-known/agent-card.json',
    headers: { origin: page },
  });
  expect(card.headers['access-control-allow-origin']).toBe('*');
});

test('pages of listed origins may call, and no others', async () => {
  const port = await start({ cors: [page] });
  const asked = await ask(port, preflight);
  expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([204, page]);
  expect(asked.headers['access-control-allow-headers']).toContain('authorization');
  expect(asked.headers).not.toHaveProperty('access-control-allow-credentials');
  const headers = { origin: page, 'content-type': 'application/json' };
  const sent = await ask(port, { method: 'POST', path: '/message:send', headers, body });
  expect([sent.status, sent.headers['access-control-allow-origin'], sent.headers['vary']]).toEqual([
    200,
    page,
    'Origin',
  ]);
  for (const origin of [`${page}.evil.example`, 'http://app.example.com', `${page}:8443`, 'null']) {
    const foreign = { ...headers, origin };
    const refused = await ask(port, {
      method: 'POST',
      path: '/message:send',
      headers: foreign,
      body,
    });
    expect([origin, refused.status]).toEqual([origin, 403]);
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
  }
});

test('pages can read errors and their headers', async () => {
  const port = await start({ cors: ['*'] });
  const refused = await ask(port, { path: '/tasks/none', headers: { origin: page } });
  expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([404, '*']);
  expect(refused.headers['access-control-expose-headers']).toContain('WWW-Authenticate');
});

test('pages of the server itself may call', async () => {
  const port = await start();
  const headers = { origin: `http://localhost:${port}`, host: `localhost:${port}` };
  const sent = await ask(port, {
    method: 'POST',
    path: '/message:send',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  expect(sent.status).toBe(200);
});

test('a local server refuses requests for a foreign host name that resolves to it', async () => {
  const port = await start();
  const foreign = [
    `evil.example:${port}`,
    'evil.example',
    `127.0.0.1.evil.example:${port}`,
    'evil.example@localhost',
    'localhost#.evil.example',
    String.raw`localhost\.evil.example`,
    'local\thost',
  ];
  for (const host of foreign) {
    const headers = { host, origin: `http://${host}`, 'content-type': 'application/json' };
    const answers = [
      await ask(port, { headers: { host } }),
      await ask(port, { method: 'POST', path: '/message:send', headers, body }),
      await ask(port, { path: '/.well-known/agent-card.json', headers: { host } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'a.localhost']) {
    expect([host, (await ask(port, { headers: { host } })).status]).toEqual([host, 200]);
  }
});

test('names that the operator gives are known: by url, and by hosts', async () => {
  const byUrl = await start({ url: 'https://agents.example.com' });
  expect((await ask(byUrl, { headers: { host: 'agents.example.com' } })).status).toBe(200);
  await server?.close();
  const byHosts = await start({ hosts: ['Proxy.Example.com'] });
  expect((await ask(byHosts, { headers: { host: 'proxy.example.com:8080' } })).status).toBe(200);
});
