import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { connect, fetchAgentCard } from './index.ts';
import { agentCard } from './testing/fixtures.ts';
import { webServer } from './testing/web-server.ts';

type Routes = Record<string, (request: IncomingMessage, response: ServerResponse) => void>;

/** A web site with some pages; all else is 404. */
async function site(routes: Routes): Promise<{ origin: string; visits: string[] }> {
  const visits: string[] = [];
  const origin = await webServer((request, response) => {
    visits.push(request.url ?? '');
    const route = routes[(request.url ?? '').split('?')[0] ?? ''];
    if (route === undefined) response.writeHead(404).end('<h1>Not found</h1>');
    else route(request, response);
  });
  return { origin, visits };
}

const card = agentCard({ url: 'https://agent.example/rpc' });
const serve = (request: IncomingMessage, response: ServerResponse): void => {
  expect(request.headers['a2a-version']).toBe('1.0');
  response.end(JSON.stringify(card));
};

test('the card is fetched from its well-known place (8.2)', async () => {
  const { origin, visits } = await site({ '/.well-known/agent-card.json': serve });
  const client = await connect(origin);
  expect(client.card).toEqual(card);
  expect(client.interface.url).toBe('https://agent.example/rpc');
  expect(visits).toEqual(['/.well-known/agent-card.json']);
});

test('an agent below a path has its card below that path', async () => {
  const { origin } = await site({ '/agents/one/.well-known/agent-card.json': serve });
  expect((await connect(`${origin}/agents/one/`)).card.name).toBe('Scripted');
});

test('an older agent keeps its card at agent.json', async () => {
  const { origin, visits } = await site({ '/.well-known/agent.json': serve });
  expect((await connect(new URL(origin))).card.name).toBe('Scripted');
  expect(visits).toEqual(['/.well-known/agent-card.json', '/.well-known/agent.json']);
});

test('the address of a card is used as it is', async () => {
  const { origin, visits } = await site({ '/cards/one.json': serve });
  await connect(`${origin}/cards/one.json?draft=1`);
  expect(visits).toEqual(['/cards/one.json?draft=1']);
});

test('an address with a path that has no well-known place may be a card’s own', async () => {
  const { origin } = await site({ '/registry/agents/7': serve });
  expect((await connect(`${origin}/registry/agents/7`)).card.name).toBe('Scripted');
});

test('no card anywhere is an error that names the places', async () => {
  const { origin } = await site({});
  await expect(connect(origin)).rejects.toMatchObject({
    code: 'PEER_INVALID',
    message: `there is no agent card at ${origin}/.well-known/agent-card.json or ${origin}/.well-known/agent.json: check the address, or give the URL of the card`,
  });
});

test('an invalid card is refused with its invalid fields', async () => {
  const { origin } = await site({
    '/.well-known/agent-card.json': (_, response) => response.end('{"name": 7}'),
  });
  const failure = await connect(origin).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'PEER_INVALID' });
  expect(String(failure)).toContain('name');
});

test('a page that is not JSON is not a card', async () => {
  const { origin } = await site({
    '/.well-known/agent-card.json': (_, response) => response.end('<html>'),
  });
  await expect(connect(origin)).rejects.toMatchObject({ code: 'PEER_INVALID' });
});

test('a card of 0.3 leads to a client of 0.3', async () => {
  const legacy = {
    protocolVersion: '0.3.0',
    name: 'Old',
    description: 'An older agent',
    url: 'https://old.example/rpc',
    preferredTransport: 'JSONRPC',
    version: '1',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
  const { origin } = await site({
    '/.well-known/agent-card.json': (_, response) => response.end(JSON.stringify(legacy)),
  });
  const { interface: chosen } = await connect(origin);
  expect(chosen).toMatchObject({ url: 'https://old.example/rpc', protocolVersion: '0.3' });
  // The same card can be given instead of its address.
  expect((await connect(legacy)).interface).toEqual(chosen);
});

test('a card is asked for again conditionally, and a new one is changed over to (8.6)', async () => {
  let current = card;
  const conditions: (string | undefined)[] = [];
  const { origin } = await site({
    '/.well-known/agent-card.json': (request, response) => {
      const etag = `"${current.version}"`;
      const condition = request.headers['if-none-match'];
      conditions.push(condition);
      expect(request.headers['cache-control'] ?? '').not.toContain('no-cache');
      response.setHeader('ETag', etag);
      if (condition === etag) response.writeHead(304).end();
      else response.end(JSON.stringify(current));
    },
  });
  const client = await connect(origin);
  const before = client.card;
  expect(await client.refreshCard()).toBe(before);
  current = { ...agentCard({ url: 'https://agent.example/new' }), version: '2.0.0' };
  expect((await client.refreshCard()).version).toBe('2.0.0');
  expect(client.interface.url).toBe('https://agent.example/new');
  expect(conditions).toEqual([undefined, '"1.0.0"', '"1.0.0"']);
});

test('a card can be had without a client, as it came and conditionally', async () => {
  const wire = { ...card, supportedInterfaces: [], url: 'grpc.example', 'x-extra': 1 };
  const { origin } = await site({
    '/.well-known/agent-card.json': (request, response) => {
      response.setHeader('ETag', '"1"');
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end();
      else response.end(JSON.stringify(wire));
    },
  });
  const fetched = await fetchAgentCard(new URL(origin));
  expect(fetched).toMatchObject({ json: wire, etag: '"1"', card: { name: 'Scripted' } });
  expect(await fetchAgentCard(fetched)).toBe(fetched);
  // It has no interface to call, which matters only to callers.
  await expect(connect(origin)).rejects.toMatchObject({ code: 'PEER_INVALID' });
});

test('a card that is gone is an error', async () => {
  const known = { card, json: card, url: `${(await site({})).origin}/card.json` };
  await expect(fetchAgentCard(known)).rejects.toThrow(`the agent card at ${known.url} is gone`);
});

test('a card that was given needs no fetching', async () => {
  const client = await connect(card);
  expect(await client.refreshCard()).toEqual(card);
});

test('a redirect within the origin is followed', async () => {
  const { origin } = await site({
    '/.well-known/agent-card.json': (_, response) => {
      response.writeHead(302, { Location: '/moved.json' }).end();
    },
    '/moved.json': serve,
  });
  expect((await connect(origin)).card.name).toBe('Scripted');
});

test('a redirect to another origin is not followed', async () => {
  const elsewhere = await site({ '/card.json': serve });
  const { origin } = await site({
    '/.well-known/agent-card.json': (_, response) => {
      response.writeHead(301, { Location: `${elsewhere.origin}/card.json?to=you` }).end();
    },
  });
  await expect(connect(origin)).rejects.toMatchObject({
    code: 'PEER_INVALID',
    message: `GET ${origin}/.well-known/agent-card.json redirects to ${elsewhere.origin}/card.json, which is not followed: use the final address`,
  });
  expect(elsewhere.visits).toEqual([]);
});

test('redirects in a circle come to an end', async () => {
  const { origin, visits } = await site({
    '/.well-known/agent-card.json': (request, response) => {
      response.writeHead(307, { Location: request.url ?? '' }).end();
    },
  });
  await expect(connect(origin)).rejects.toMatchObject({ code: 'PEER_INVALID' });
  expect(visits).toHaveLength(6);
});

test('a card at the bound is read, one beyond it is not, declared or not', async () => {
  const body = JSON.stringify(card);
  const { origin } = await site({
    '/declared.json': (_, response) => {
      response.writeHead(200, { 'Content-Length': body.length }).end(body);
    },
    '/streamed.json': (_, response) => {
      response.write(body.slice(0, 100));
      response.end(body.slice(100));
    },
  });
  for (const path of ['/declared.json', '/streamed.json']) {
    await connect(origin + path, { maxBodySize: body.length });
    await expect(connect(origin + path, { maxBodySize: body.length - 1 })).rejects.toMatchObject({
      code: 'PEER_INVALID',
      message: `GET ${origin}${path} answered with more than ${body.length - 1} bytes (maxBodySize)`,
    });
  }
});

test.each(['agent.example', 'ftp://agent.example', 'https://user:secret@agent.example', ''])(
  'the address %j is refused without being quoted',
  async (address) => {
    const failure = await connect(address).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(failure)).not.toContain('secret');
  },
);

test('fetching a card is repeated where the site is not ready', async () => {
  let attempts = 0;
  const { origin } = await site({
    '/.well-known/agent-card.json': (request, response) => {
      attempts += 1;
      if (attempts < 3) response.writeHead(503).end();
      else serve(request, response);
    },
  });
  await connect(origin, { sleep: () => Promise.resolve() });
  expect(attempts).toBe(3);
});
