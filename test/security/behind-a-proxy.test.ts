/** A reverse proxy on the same machine calls from loopback in the name of anybody. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served, type Served } from '../../src/assistant/channels/testing/served.ts';
import { inspectorToken } from '../../src/http/inspector/testing/inspected-server.ts';

interface Proxy extends AsyncDisposable {
  readonly url: string;
}

/** Forwards to the server, with the headers that it was told to add, or by HTTP/1.0 as nginx does. */
async function proxyTo(port: number, added: IncomingHttpHeaders): Promise<Proxy> {
  const proxy = createServer((request, response) => {
    const headers = { ...request.headers, host: `127.0.0.1:${port}`, ...added };
    const { url: path, method } = request;
    const outgoing = httpRequest({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(outgoing);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

/** The request line is all that is changed. */
async function asNginx(port: number): Promise<Proxy> {
  const proxy = createTcpServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.once('data', (data) => {
      const text = data.toString('latin1').replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n');
      upstream.write(text.replace(/\r\nhost: [^\r]+/i, `\r\nHost: 127.0.0.1:${port}`), 'latin1');
      client.pipe(upstream);
    });
    upstream.pipe(client);
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

let house: Served;
beforeAll(async () => {
  house = await served({ inspect: { proxy: true, token: inspectorToken } });
});
afterAll(async () => house[Symbol.asyncDispose]());

const inspected: readonly [string, string][] = [
  ['GET', '/inspect/api/about'],
  ['GET', '/inspect/api/tasks'],
  ['GET', '/inspect/api/live'],
  ['GET', '/inspect/api/peers'],
  ['POST', '/inspect/api/proxy'],
  ['POST', '/inspect/api/agents'],
  ['GET', '/inspect/a2a/assistant/tasks'],
  ['POST', '/inspect/a2a/assistant'],
];
const ofTheApi: readonly [string, string][] = [
  ['GET', '/status'],
  ['GET', '/domain'],
  ['GET', '/conversations/x/tracker'],
  ['POST', '/conversations/x/tracker/events'],
  ['PUT', '/model'],
  ['DELETE', '/model'],
];

test.each(inspected)(
  'a proxy that adds nothing opens nothing of the inspector: %s %s',
  async (method, path) => {
    await using proxy = await proxyTo(house.serving.port, {});
    expect((await fetch(proxy.url + path, { method })).status).toBe(401);
  },
);

describe.each<[string, IncomingHttpHeaders]>([
  ['X-Forwarded-For', { 'x-forwarded-for': '203.0.113.9' }],
  ['X-Forwarded-For of a liar', { 'x-forwarded-for': '127.0.0.1' }],
  ['Forwarded', { forwarded: 'for=203.0.113.9' }],
  ['Via', { via: '1.1 proxy' }],
  ['X-Real-IP', { 'x-real-ip': '203.0.113.9' }],
])('a proxy that adds %s', (_, added) => {
  test.each(ofTheApi)('does not open the HTTP API: %s %s', async (method, path) => {
    await using proxy = await proxyTo(house.serving.port, added);
    expect((await fetch(proxy.url + path, { method })).status).toBe(403);
  });

  test('does not reach this machine by the proxy of the inspector, not even for its operator', async () => {
    await using proxy = await proxyTo(house.serving.port, added);
    const headers = { authorization: `Bearer ${inspectorToken}` };
    for (const url of [house.url, 'http://[::1]:80/', 'https://10.0.0.1/']) {
      const body = JSON.stringify({ url });
      const answer = await fetch(`${proxy.url}/inspect/api/agents`, {
        method: 'POST',
        headers,
        body,
      });
      expect([url, answer.status]).toEqual([url, 400]);
    }
  });

  test('still lets users talk', async () => {
    await using proxy = await proxyTo(house.serving.port, added);
    const answer = await fetch(`${proxy.url}/webhooks/rest/webhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sender: 'ada', message: 'water a plant' }),
    });
    expect(answer.status).toBe(200);
  });
});

test.each(ofTheApi)(
  'nginx as it is installed does not open the HTTP API: %s %s',
  async (method, path) => {
    await using proxy = await asNginx(house.serving.port);
    const { status } = await fetch(proxy.url + path, { method, headers: { connection: 'close' } });
    expect(status).toBe(403);
  },
);

test('the operator looks through a proxy by the link', async () => {
  await using proxy = await proxyTo(house.serving.port, { 'x-forwarded-for': '203.0.113.9' });
  const opened = await fetch(`${proxy.url}/inspect/?token=${inspectorToken}`, {
    redirect: 'manual',
  });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const about = await fetch(`${proxy.url}/inspect/api/about`, { headers: { cookie } });
  expect(about.status).toBe(200);
});
