import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { agent, textOf } from '../agents/index.ts';
import { artifact } from '../protocol/index.ts';
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

/** Sends, streams and gets the card of the agent mounted at `base`. */
async function expectToWork(base: string): Promise<void> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
  const post = (method: string) =>
    fetch(base, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
    });
  expect(await (await post('SendMessage')).json()).toHaveProperty(
    'result.task.artifacts.0.parts.0.text',
    'hi',
  );
  expect(await (await post('SendStreamingMessage')).text()).toContain('id: 3\n');
  const card = await fetch(`${base}/.well-known/agent-card.json`);
  expect(await card.json()).toHaveProperty('name', 'echo');
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

test('the handler mounts in Fastify', async () => {
  const { handler } = await made();
  const app = fastify();
  // The handler reads the body itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.all('/*', (request, reply) => {
    reply.hijack();
    handler(request.raw, reply.raw);
  });
  cleanups.push(() => app.close());
  await expectToWork(await app.listen({ port: 0, host: '127.0.0.1' }));
});
