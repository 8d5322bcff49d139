/**
 * §13, §14.1.1: a card, or its author, must not direct our own calls to forbidden addresses.
 * The guard of webhooks is the `fetch` of the client.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { connect, fetchAgentCard } from '../../src/client/index.ts';
import { serve, type Serving } from '../../src/http/index.ts';
import type { AgentCard } from '../../src/protocol/index.ts';
import {
  type GuardedFetch,
  guardedFetch,
  httpsOrLoopbackPolicy,
  publicPolicy,
  type UrlPolicy,
} from '../../src/push/index.ts';
import { actor } from './support/agents.ts';

const opened: (Serving | Server | GuardedFetch)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) {
    if (typeof each === 'function') each.close();
    else if ('closeAllConnections' in each) {
      each.closeAllConnections();
      await new Promise((resolve) => each.close(resolve));
    } else await each.close();
  }
});

function guarded(
  policy: UrlPolicy,
  options: Parameters<typeof guardedFetch>[1] = {},
): GuardedFetch {
  const made = guardedFetch(policy, options);
  opened.push(made);
  return made;
}

async function agentServer(hosts: readonly string[] = []): Promise<Serving> {
  const server = await serve(actor, { hosts, drainMs: 0 });
  opened.push(server);
  return server;
}

/** Anything but an agent; counts who comes. */
async function site(
  answer: (url: string) => { status: number; headers?: Record<string, string>; body?: string },
): Promise<{ url: string; port: number; hits: string[] }> {
  const hits: string[] = [];
  const server = createServer((request, response) => {
    hits.push(request.url ?? '');
    const { status, headers = {}, body = '' } = answer(request.url ?? '');
    response.writeHead(status, { connection: 'close', ...headers }).end(body);
  });
  opened.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, hits };
}

const unreachable = { code: 'PEER_UNREACHABLE' };
const say = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text }] },
});

test('with the guard as its fetch, the client calls, streams and reads cards as ever', async () => {
  const server = await agentServer();
  const fetch = guarded(httpsOrLoopbackPolicy);
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    const client = await connect(`http://127.0.0.1:${server.port}`, { fetch, binding });
    const answer = await client.sendMessage(say('hello'));
    expect(answer).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED');
    const events = await Array.fromAsync(client.sendStreamingMessage(say('hello')));
    expect(events.length).toBeGreaterThan(2);
  }
});

test('a card at a forbidden address is not even asked for', async () => {
  const secret = await site(() => ({ status: 200, body: '{}' }));
  const fetch = guarded(publicPolicy);
  for (const address of [
    secret.url,
    `http://localhost:${secret.port}`,
    `http://[::ffff:127.0.0.1]:${secret.port}`,
    'http://169.254.169.254/latest/meta-data/card.json',
    'http://10.0.0.1/agent-card.json',
  ]) {
    await expect(connect(address, { fetch, retry: false })).rejects.toMatchObject(unreachable);
    await expect(fetchAgentCard(address, { fetch, retry: false })).rejects.toMatchObject(
      unreachable,
    );
  }
  expect(secret.hits).toEqual([]);
});

test('a card from an allowed place cannot send calls to a forbidden one', async () => {
  const inside = await site(() => ({ status: 200, body: '{}' }));
  const card: AgentCard = {
    ...(await agentServer()).router.cards.current,
    supportedInterfaces: [
      { url: `${inside.url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
  };
  const published = await site(() => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(card),
  }));
  // The place of the card is vouched for by name, and nothing else is.
  const fetch = guarded(
    { ...publicPolicy, allowedNames: ['cards.example'] },
    { resolver: async () => ['127.0.0.1'] },
  );
  const client = await connect(`http://cards.example:${published.port}`, { fetch, retry: false });
  expect(published.hits).toHaveLength(1);
  await expect(client.sendMessage(say('hello'))).rejects.toMatchObject(unreachable);
  await expect(client.sendStreamingMessage(say('hello')).next()).rejects.toMatchObject(unreachable);
  expect(inside.hits).toEqual([]);
});

test('a name that comes to point elsewhere between the card and the call leads nowhere', async () => {
  const server = await agentServer(['agent.example']);
  const card = JSON.stringify({
    ...server.router.cards.current,
    supportedInterfaces: [
      {
        url: `http://agent.example:${server.port}`,
        protocolBinding: 'JSONRPC',
        protocolVersion: '1.0',
      },
    ],
  });
  const published = await site(() => ({ status: 200, body: card }));
  const answers = [['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1', '169.254.169.254']];
  const asked: string[] = [];
  const fetch = guarded(
    { schemes: ['http'], allowLoopback: true, allowPrivate: false },
    {
      resolver: async (name) => {
        asked.push(name);
        return answers.shift() ?? ['127.0.0.1'];
      },
    },
  );
  const client = await connect(`http://agent.example:${published.port}`, { fetch, retry: false });
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(client.sendMessage(say('hello'))).rejects.toMatchObject(unreachable);
  }
  // Once the name is honest again, so is the call: nothing else stood in its way.
  expect(await client.sendMessage(say('hello'))).toHaveProperty('task');
  expect(asked).toEqual(Array(4).fill('agent.example'));
});

test('a redirect leads neither a card fetch nor a call to another place', async () => {
  const inside = await site(() => ({ status: 200, body: '{}' }));
  const fetch = guarded(httpsOrLoopbackPolicy);
  const turning = await site(() => ({ status: 302, headers: { location: `${inside.url}/` } }));
  await expect(connect(turning.url, { fetch, retry: false })).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
  expect(inside.hits).toEqual([]);
});
