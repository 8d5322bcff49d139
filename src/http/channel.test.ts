import { afterEach, expect, test } from 'vitest';
import { agent, textOf } from '../agents/index.ts';
import { artifact, LegateError } from '../protocol/index.ts';
import { type Channel, serve, type ServeOptions, type Serving } from './index.ts';

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(textOf(turn.message));
});

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function served(channels: readonly Channel[], options: ServeOptions = {}): Promise<Serving> {
  const server = await serve(echo, { ...options, channels });
  cleanups.push(() => server.close());
  return server;
}

const chat: Channel = {
  name: 'chat',
  mount(host) {
    host.route('GET', '/', ({ response }) => void response.end('Hello'));
    host.route('POST', '/chat/{room}', ({ request, response, params, query }) => {
      host.guard(request, response);
      response.end(`${params['room']} ${query.get('as')}`);
    });
    host.route('*', '/files/*', ({ response, params }) => void response.end(params['*']));
    host.route('GET', '/broken', () => {
      throw new LegateError('PERMISSION_DENIED', 'not for you');
    });
  },
};

test('a channel answers on its paths, with segments decoded and the rest as it was sent', async () => {
  const { url } = await served([chat]);
  const room = await fetch(`${url}/chat/caf%C3%A9?as=ada`, { method: 'POST' });
  expect(await room.text()).toBe('café ada');
  expect(await (await fetch(`${url}/files/a/b%20c`)).text()).toBe('a/b%20c');
  expect((await fetch(`${url}/chat/%E0%A4%A`, { method: 'POST' })).status).toBe(400);
});

test('a path of a channel refuses other methods and names those it takes', async () => {
  const { url } = await served([chat]);
  const refused = await fetch(`${url}/chat/lobby`, { method: 'DELETE' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST']);
  expect((await fetch(`${url}/broken`, { method: 'HEAD' })).status).toBe(403);
});

test('JSON-RPC and the card stay beside a channel that answers GET /', async () => {
  const { url } = await served([chat]);
  expect(await (await fetch(url)).text()).toBe('Hello');
  const headers = { 'content-type': 'application/json' };
  const rpc = await fetch(url, { method: 'POST', headers, body: '{}' });
  expect(await rpc.json()).toHaveProperty('error.code', -32600);
  const card = await fetch(`${url}/.well-known/agent-card.json`);
  expect(await card.json()).toHaveProperty('name', 'echo');
});

test('errors of a channel have its own form, or that of REST', async () => {
  const { url } = await served([chat]);
  expect(await (await fetch(`${url}/broken`)).json()).toHaveProperty('error.code', 403);
  const plain = { ...chat, sendError: (response, { code }) => void response.end(code) } as Channel;
  const other = await served([plain]);
  expect(await (await fetch(`${other.url}/broken`)).text()).toBe('PERMISSION_DENIED');
  expect(await (await fetch(`${other.url}/broken`, { method: 'POST' })).text()).toBe(
    'METHOD_NOT_ALLOWED',
  );
});

test('the guard refuses pages of other origins', async () => {
  const { url } = await served([chat], { cors: ['https://app.example'] });
  const post = (origin: string) =>
    fetch(`${url}/chat/lobby`, { method: 'POST', headers: { origin } });
  expect((await post('https://evil.example')).status).toBe(403);
  expect((await post('https://app.example')).status).toBe(200);
});

test('without A2A only channels and health answer', async () => {
  const { url } = await served([chat], { a2a: false });
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(404);
  expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(404);
});

test('channels are disposed of with the server, and when a later one cannot be mounted', async () => {
  const disposed: string[] = [];
  const noting = (name: string): Channel => ({
    name,
    mount: () => ({ [Symbol.dispose]: () => void disposed.push(name) }),
  });
  const server = await served([noting('first'), noting('second')]);
  await server.close();
  expect(disposed).toEqual(['second', 'first']);
  const broken: Channel = { name: 'broken', mount: (host) => host.route('GET', 'chat', () => {}) };
  await expect(served([noting('third'), broken])).rejects.toThrow(
    '"chat" is not a path of a route',
  );
  expect(disposed).toEqual(['second', 'first', 'third']);
});

test('a channel that fails to close is reported, after everything else is closed', async () => {
  const closed: string[] = [];
  const named = (name: string): Channel => ({
    name,
    mount: () => ({ [Symbol.dispose]: () => void closed.push(name) }),
  });
  const broken: Channel = {
    name: 'broken',
    mount(host) {
      host.route('GET', '/open', ({ response }) => void response.write('never ends'));
      return {
        [Symbol.dispose]: () => {
          throw new Error('the socket is gone');
        },
      };
    },
  };
  const server = await serve(echo, {
    channels: [named('first'), broken, named('last')],
    drainMs: 0,
  });
  const open = await fetch(`${server.url}/open`);
  await expect(server.close()).rejects.toThrow('the socket is gone');
  expect(closed).toEqual(['last', 'first']);
  await expect(open.text()).rejects.toThrow('terminated');
  await expect(fetch(server.url)).rejects.toThrow('fetch failed');
});
