/** Several agents on one port and one store: each with a card of its own, and a catalogue of them all. */
import { afterEach, expect, test } from 'vitest';
import { agent, textOf } from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { serveAll, type ServeAllOptions, type ServingAll } from '../../src/http/index.ts';
import { type AgentCard, artifact } from '../../src/protocol/index.ts';
import { bodySigner, generateSigningKey, publicKeySet } from '../../src/push/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { openMemory } from '../../src/store/index.ts';
import { bearer, tokenAuthenticator } from './support/callers.ts';
import { codeOf, dialects, resultOf, send, taskOf } from './support/dialects.ts';

const orders = agent(
  { name: 'Orders', description: 'Takes orders.', skills: ['order'] },
  async function* (turn) {
    yield artifact(`ordered ${textOf(turn.message)}`);
  },
);
const billing = agent({ name: 'Billing', description: 'Sends bills.' }, async function* (turn) {
  yield artifact(`billed ${textOf(turn.message)}`);
});

let server: ServingAll | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeAllOptions = {}): Promise<string> {
  server = await serveAll({ orders, billing }, { drainMs: 0, ...options });
  return `http://localhost:${server.port}`;
}

const json = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(url, { headers: { 'a2a-version': '1.0', ...headers } })).json();

test('each agent has a card of its own, whose addresses lead to it and to no other', async () => {
  const url = await start();
  for (const [name, description, verb] of [
    ['orders', 'Takes orders.', 'ordered'],
    ['billing', 'Sends bills.', 'billed'],
  ] as const) {
    const card = (await json(`${url}/${name}/.well-known/agent-card.json`)) as AgentCard;
    expect(card.description).toBe(description);
    expect(new Set(card.supportedInterfaces.map((each) => each.url))).toEqual(
      new Set([`${url}/${name}`]),
    );
    for (const dialect of dialects) {
      const answer = await send(
        `${url}/${name}`,
        dialect.request('sendMessage', { text: 'a chair' }),
      );
      expect(answer.text).toContain(`${verb} a chair`);
    }
    // An address without the last slash is the same place.
    const [rpc] = dialects;
    const { headers, body = '' } = rpc?.request('sendMessage') ?? { headers: {} };
    const bare = await fetch(`${url}/${name}`, { method: 'POST', headers, body });
    expect(await bare.text()).toContain(verb);
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      const client = await connect(`${url}/${name}`, { binding });
      const answer = await client.sendMessage({
        message: { messageId: binding, role: 'ROLE_USER', parts: [{ text: 'a table' }] },
      });
      expect(JSON.stringify(answer)).toContain(`${verb} a table`);
    }
  }
});

test('the catalogue at the root says where the card of each agent is', async () => {
  const url = await start();
  const response = await fetch(`${url}/.well-known/ai-catalog.json`);
  expect(response.headers.get('content-type')).toBe('application/ai-catalog+json');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const catalogue = (await response.json()) as { entries: { url: string }[] };
  expect(catalogue).toEqual({
    specVersion: '1.0',
    host: { displayName: 'localhost', identifier: 'localhost' },
    entries: [
      {
        identifier: 'urn:air:localhost:a2a:orders',
        type: 'application/a2a-agent-card+json',
        url: `${url}/orders/.well-known/agent-card.json`,
        description: 'Takes orders.',
        version: '1.0.0',
        tags: ['order'],
      },
      {
        identifier: 'urn:air:localhost:a2a:billing',
        type: 'application/a2a-agent-card+json',
        url: `${url}/billing/.well-known/agent-card.json`,
        description: 'Sends bills.',
        version: '1.0.0',
        tags: ['Billing'],
      },
    ],
  });
  for (const { url: card } of catalogue.entries) expect((await fetch(card)).status).toBe(200);
  const etag = response.headers.get('etag') ?? '';
  const again = await fetch(`${url}/.well-known/ai-catalog.json`, {
    headers: { 'if-none-match': etag },
  });
  expect(again.status).toBe(304);
});

test('a task of one agent is not there at another, though they share a store', async () => {
  const store = openMemory();
  const url = await start({ store });
  for (const dialect of dialects) {
    const { id } = taskOf(dialect, await send(`${url}/orders`, dialect.request('sendMessage')));
    resultOf(dialect, await send(`${url}/orders`, dialect.request('getTask', { id })));
    const other = await send(`${url}/billing`, dialect.request('getTask', { id }));
    expect(codeOf(other)).toBe('TASK_NOT_FOUND');
    expect((await send(`${url}/billing`, dialect.request('listTasks'))).text).not.toContain(id);
  }
  await server?.close();
  await store.close();
});

test('tenants work below each agent as they do alone', async () => {
  const url = await start();
  const [, rest] = dialects;
  if (rest === undefined) throw new Error('no dialect');
  const request = rest.request('sendMessage');
  const sent = await send(`${url}/orders/acme`, request);
  const { id } = taskOf(rest, sent);
  const status = async (path: string) =>
    (await fetch(`${url}${path}`, { headers: { 'a2a-version': '1.0' } })).status;
  expect(await status(`/orders/acme/tasks/${id}`)).toBe(200);
  expect(await status(`/orders/tasks/${id}`)).toBe(404);
  expect(await status(`/billing/acme/tasks/${id}`)).toBe(404);
});

test('callers, limits, webhooks and their keys are those of the whole server', async () => {
  await using receiver = await startReceiver();
  const key = generateSigningKey();
  const auth = new Authenticator({
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 'letmein', subject: 'alice' }] })],
  });
  const url = await start({
    auth,
    protectsCard: true,
    push: { signer: bodySigner([key]) },
    callerLimits: { requestsPerSecond: 1, burst: 3, clock: { now: () => 0 } },
  });
  expect((await fetch(`${url}/.well-known/ai-catalog.json`)).status).toBe(401);
  expect((await fetch(`${url}/orders/.well-known/agent-card.json`)).status).toBe(401);
  const alice = { authorization: 'Bearer letmein' };
  const catalogue = await fetch(`${url}/.well-known/ai-catalog.json`, { headers: alice });
  expect([catalogue.status, catalogue.headers.get('cache-control')]).toEqual([
    200,
    'private, max-age=60',
  ]);
  const [rpc] = dialects;
  if (rpc === undefined) throw new Error('no dialect');
  for (const name of ['orders', 'billing']) {
    const push = { url: `${receiver.url}/${name}` };
    resultOf(rpc, await send(`${url}/${name}`, rpc.request('sendMessage', { push }), alice));
  }
  await expect.poll(() => receiver.calls.filter(({ path }) => path === '/billing').length).toBe(4);
  await expect.poll(() => receiver.calls.filter(({ path }) => path === '/orders').length).toBe(4);
  for (const path of ['', '/orders', '/billing']) {
    expect(await json(`${url}${path}/.well-known/jwks.json`)).toEqual(publicKeySet([key]));
  }
  await send(`${url}/orders`, rpc.request('listTasks'), alice);
  expect((await send(`${url}/billing`, rpc.request('listTasks'), alice)).status).toBe(429);
});

test('an unknown agent is 404 in JSON, with a hint where to look', async () => {
  const url = await start();
  for (const path of ['/', '/nobody', '/.well-known/agent-card.json', '/orders%2f', '/__proto__']) {
    const response = await fetch(`${url}${path}`);
    expect([path, response.status]).toEqual([path, 404]);
    expect(await response.text()).toContain('/.well-known/ai-catalog.json');
  }
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  expect((await fetch(`${url}/.well-known/ai-catalog.json`, { method: 'POST' })).status).toBe(405);
});

test.each([
  ['no agents', {}],
  ['a name that is not a segment of a path', { 'a/b': orders }],
  ['a name that stands for something else', { health: orders }],
  ['a name that begins with a dot', { '.well-known': orders }],
  ['two agents that would share their tasks', { one: orders, two: orders }],
])('%s do not start', async (_what, agents) => {
  await expect(serveAll(agents)).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
});

test('many agents that others can reach do not start without authentication', async () => {
  await expect(serveAll({ orders }, { host: '0.0.0.0' })).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  });
});

test('what belongs to one agent can be its own: signatures, scopes, extended card', async () => {
  const key = generateSigningKey();
  server = await serveAll(
    { orders: { agent: orders, cardKeys: [key], extendedCard: true }, billing },
    { auth: await tokenAuthenticator(), drainMs: 0 },
  );
  const url = `http://localhost:${server.port}`;
  expect(await json(`${url}/orders/.well-known/agent-card.json`)).toHaveProperty('signatures');
  expect(await json(`${url}/billing/.well-known/agent-card.json`)).not.toHaveProperty('signatures');
  const headers = { 'a2a-version': '1.0', ...(await bearer({ sub: 'alice' })) };
  expect((await fetch(`${url}/orders/extendedAgentCard`, { headers })).status).toBe(200);
  expect((await fetch(`${url}/billing/extendedAgentCard`, { headers })).status).toBe(400);
});
