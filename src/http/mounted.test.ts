import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { afterEach, expect, test } from 'vitest';
import { agent, textOf, working } from '../agents/index.ts';
import { connect } from '../client/index.ts';
import { artifact, readAgentCard } from '../protocol/index.ts';
import { router, type Router } from './index.ts';

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(textOf(turn.message));
});

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function made(): Promise<Router> {
  const endpoints = await router(echo, { url: 'http://localhost/agent' });
  cleanups.push(() => endpoints.close());
  return endpoints;
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      cleanups.push(() => new Promise((done) => void server.close(done)));
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}

/** Sends, streams and gets the card of the agent mounted at `base`, in both protocol versions. */
async function expectToWork(base: string, call: typeof fetch = fetch): Promise<void> {
  const post = (method: string, message: object, headers: Record<string, string> = {}) =>
    call(base, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
    });
  const v1 = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
  const version = { 'a2a-version': '1.0' };
  expect(await (await post('SendMessage', v1, version)).json()).toHaveProperty(
    'result.task.artifacts.0.parts.0.text',
    'hi',
  );
  const stream = await post('SendStreamingMessage', v1, version);
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  expect(await stream.text()).toContain('id: 3\n');
  const v03 = { messageId: 'n', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
  expect(await (await post('message/send', v03)).json()).toHaveProperty(
    'result.artifacts.0.parts.0.text',
    'hi',
  );
  expect(await (await post('message/stream', v03)).text()).toContain('"final":true');
  const card = await call(`${base}/.well-known/agent-card.json`);
  expect(await card.json()).toHaveProperty('name', 'echo');
  const sent = await call(`${base}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...version },
    body: JSON.stringify({ message: v1 }),
  });
  expect(await sent.json()).toHaveProperty('task.artifacts');
  const head = await call(`${base}/.well-known/agent-card.json`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
}

test('the handler mounts in Express, below a path', async () => {
  const { handler } = await made();
  const app = express();
  app.use('/agent', handler);
  await expectToWork(`${await listen(createServer(app))}/agent`);
});

test('the handler mounts in Express behind a body parser', async () => {
  const { handler } = await made();
  const app = express();
  app.use(express.json());
  app.use('/agent', handler);
  await expectToWork(`${await listen(createServer(app))}/agent`);
});

test('the handler mounts in Fastify, below a path, beside routes with bodies of their own', async () => {
  const { handler } = await made();
  const app = fastify();
  await app.register(handler.fastify, { prefix: '/agent' });
  app.post('/own', (request) => request.body);
  cleanups.push(() => app.close());
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  await expectToWork(`${url}/agent`);
  const headers = { 'content-type': 'application/json' };
  const own = await fetch(`${url}/own`, { method: 'POST', headers, body: '{"a":1}' });
  expect(await own.json()).toEqual({ a: 1 });
});

test('the handler mounts in Fastify at the root', async () => {
  const { handler } = await made();
  const app = fastify();
  await app.register(handler.fastify);
  cleanups.push(() => app.close());
  await expectToWork(await app.listen({ port: 0, host: '127.0.0.1' }));
});

test('fetch of the handler mounts in Hono', async () => {
  const { handler } = await made();
  const app = new Hono().mount('/agent', handler.fetch);
  await expectToWork('http://localhost/agent', async (input, init) => app.request(input, init));
});

test('fetch of the handler is a route handler of Next.js, which gets the whole path', async () => {
  const { handler } = await made();
  // app/agent/[[...path]]/route.ts
  const routes = { GET: handler.fetch, HEAD: handler.fetch, POST: handler.fetch };
  await expectToWork('http://localhost/agent', async (input, init) => {
    const request = new Request(input, init);
    const route = new Map(Object.entries(routes)).get(request.method);
    return route?.(request, { params: Promise.resolve({}) }) ?? new Response(null, { status: 405 });
  });
});

test('a caller that aborts its request over fetch closes its stream, and the task continues', async () => {
  const [started, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = agent({ name: 'slow' }, async function* () {
    yield working('one moment');
    started.resolve();
    await resumed.promise;
    yield artifact('done');
  });
  const { handler, engine, close } = await router(slow);
  cleanups.push(() => close());
  const leaving = new AbortController();
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
  const rpc = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } };
  const answer = await handler.fetch(
    new Request('http://localhost/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify(rpc),
      signal: leaving.signal,
    }),
  );
  await started.promise;
  leaving.abort();
  await expect(answer.text()).rejects.toThrow();
  expect(engine.runningTurns).toBe(1);
  resumed.resolve();
  await expect.poll(() => engine.runningTurns).toBe(0);
});

test('JSON-RPC and the card are where the options say, and the card says so', async () => {
  const url = 'http://localhost';
  const { handler, close } = await router(echo, { url, rpcPath: '/a2a', cardPath: '/card.json' });
  cleanups.push(() => close());
  const get = (path: string) => handler.fetch(new Request(`${url}${path}`));
  expect((await get('/.well-known/agent-card.json')).status).toBe(404);
  const card = await (await get('/card.json')).json();
  expect(card).toMatchObject({
    url: `${url}/a2a`,
    supportedInterfaces: [
      { protocolBinding: 'JSONRPC', url: `${url}/a2a` },
      { protocolBinding: 'HTTP+JSON', url },
      { protocolBinding: 'JSONRPC', url: `${url}/a2a` },
      { protocolBinding: 'HTTP+JSON', url },
    ],
  });
  const client = await connect(readAgentCard(card), {
    fetch: async (input, init) => handler.fetch(new Request(input, init)),
  });
  expect((await client.ask('hi')).text).toBe('hi');
  await expect(router(echo, { rpcPath: 'a2a' })).rejects.toThrow(/rpcPath "a2a" is not a path/);
});
