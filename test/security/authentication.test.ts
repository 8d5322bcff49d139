/** §7: who calls is established before anything of a request is read, by what the card declares. */
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import {
  apiKeyVerifier,
  ApiKeys,
  Authenticator,
  bearerTokenVerifier,
  jwtVerifier,
} from '../../src/auth/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { type AgentCard, artifact, operations, type Operation } from '../../src/protocol/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { actor } from './support/agents.ts';
import { bearer, tokenAuthenticator, tokenOf } from './support/callers.ts';
import { codeOf, dialects, resultOf, send } from './support/dialects.ts';

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions): Promise<string> {
  server = await serve(actor, { push: {}, extendedCard: true, drainMs: 0, ...options });
  return `http://127.0.0.1:${server.port}`;
}

const everyOperation = Object.keys(operations) as Operation[];
const anything = {
  id: 'a',
  configId: 'b',
  contextId: 'c',
  push: { url: 'https://example.com/' },
} as const;

describe.each(dialects)('$name', (dialect) => {
  test('AUTH-SERVER-002: every operation asks for credentials, in the shape of its binding', async () => {
    const url = await start({ auth: await tokenAuthenticator() });
    for (const operation of everyOperation) {
      for (const headers of [
        {},
        { authorization: 'Bearer garbage' },
        { authorization: 'Basic x' },
      ]) {
        const answer = await send(url, dialect.request(operation, anything), headers);
        expect([operation, answer.status, codeOf(answer)]).toEqual([
          operation,
          401,
          'UNAUTHENTICATED',
        ]);
        expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="legate"/);
        if (dialect.isRpc) {
          expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32060 } });
        }
      }
    }
  });

  test('with credentials every operation gets past the entrance', async () => {
    const url = await start({ auth: await tokenAuthenticator() });
    const token = await bearer({ sub: 'alice' });
    for (const operation of everyOperation) {
      const answer = await send(url, dialect.request(operation, anything), token);
      expect([operation, answer.status === 401 || answer.status === 403]).toEqual([
        operation,
        false,
      ]);
    }
  });
});

test('401 comes before the body: nothing of it is waited for', async () => {
  const url = await start({ auth: await tokenAuthenticator() });
  for (const path of ['/', '/message:send', '/v1/message:send']) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const answer = Promise.withResolvers<string>();
    socket.on('data', (data) => answer.resolve(data.toString()));
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n`,
    );
    expect(await answer.promise).toContain('HTTP/1.1 401');
    socket.destroy();
  }
});

test('a client that keeps sending a refused body is disconnected', async () => {
  const url = await start({ auth: await tokenAuthenticator() });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  socket.resume();
  socket.write(
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  const dribble = setInterval(() => socket.write('1\r\nx\r\n'), 50);
  await closed;
  clearInterval(dribble);
});

test('AUTH-SCOPE-001: unauthenticated callers do not learn that a task is missing', async () => {
  const url = await start({ auth: await tokenAuthenticator() });
  for (const path of ['/nothing', '/tasks/x:nothing', '/v1/nothing', '/%zz/tasks']) {
    const answer = await send(url, { method: 'GET', path, headers: { 'a2a-version': '1.0' } });
    expect([path, answer.status]).toEqual([path, 401]);
  }
  for (const path of ['/health', '/ready', '/.well-known/agent-card.json']) {
    expect((await fetch(url + path)).status).toBe(200);
  }
});

test('a card can require authentication, and the refusal names the authorization server', async () => {
  const resourceMetadata = 'https://agents.example.com/.well-known/oauth-protected-resource';
  const auth = new Authenticator({
    resourceMetadata,
    realm: 'agents',
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 'letmein', subject: 'alice' }] })],
  });
  const url = await start({ auth, protectsCard: true });
  const card = `${url}/.well-known/agent-card.json`;
  const refused = await fetch(card);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer realm="agents", resource_metadata="${resourceMetadata}"`,
  );
  const wrong = await fetch(card, { headers: { authorization: 'Bearer letmeout' } });
  expect(wrong.headers.get('www-authenticate')).toBe(
    `Bearer realm="agents", error="invalid_token", resource_metadata="${resourceMetadata}"`,
  );
  const shown = await fetch(card, { headers: { authorization: 'Bearer letmein' } });
  expect(shown.status).toBe(200);
  expect(shown.headers.get('cache-control')).toContain('private');
  expect(shown.headers.get('access-control-allow-origin')).toBeNull();
});

test('nothing tells which part of a credential was wrong', async () => {
  const secret = 'sixty-four characters of a secret that only the server should know';
  const key = new TextEncoder().encode(secret);
  const claims = { sub: 'alice', iss: 'https://issuer', aud: 'us' };
  const sign = (payload: object, alg = 'HS256', with_ = key) =>
    new SignJWT({ exp: Math.floor(Date.now() / 1000) + 60, ...payload })
      .setProtectedHeader({ alg })
      .sign(with_);
  const url = await start({
    auth: new Authenticator({
      verifiers: [
        await jwtVerifier({
          keys: { secret },
          algorithms: ['HS256'],
          issuer: 'https://issuer',
          audience: 'us',
        }),
        apiKeyVerifier({ keys: [{ key: 'right', subject: 'bob' }] }),
      ],
    }),
  });
  const [rpc] = dialects;
  if (rpc === undefined) throw new Error('no dialect');
  const ask = (headers: Record<string, string>) => send(url, rpc.request('listTasks'), headers);
  const right = await sign(claims);
  expect((await ask({ authorization: `Bearer ${right}` })).status).toBe(200);
  const wrong: Record<string, Record<string, string>> = {
    expired: { authorization: `Bearer ${await sign({ ...claims, exp: 1 })}` },
    'another issuer': { authorization: `Bearer ${await sign({ ...claims, iss: 'https://x' })}` },
    'another audience': { authorization: `Bearer ${await sign({ ...claims, aud: 'them' })}` },
    'no subject': { authorization: `Bearer ${await sign({ ...claims, sub: undefined })}` },
    'another algorithm': { authorization: `Bearer ${await sign(claims, 'HS384')}` },
    'another key': {
      authorization: `Bearer ${await sign(claims, 'HS256', new TextEncoder().encode('x'.repeat(64)))}`,
    },
    'no token at all': { authorization: 'Bearer no.token.atall' },
    'a cut token': { authorization: `Bearer ${right.slice(0, -2)}` },
    'an unknown key': { 'x-api-key': 'wrong' },
  };
  const answers = new Set<string>();
  for (const [what, headers] of Object.entries(wrong)) {
    const { status, text, headers: sent } = await ask(headers);
    expect(status, what).toBe(401);
    answers.add(`${text} ${sent.get('www-authenticate')}`);
  }
  expect([...answers]).toHaveLength(1);
});

test('BIND-EQUIV-004: what the card declares is what is verified, over every binding', async () => {
  const store = openMemory();
  const keys = new ApiKeys({ records: store.records });
  const { key } = await keys.create({ subject: 'carol' });
  const secret = 'sixty-four characters of a secret that only the server should know';
  const url = await start({
    store,
    auth: new Authenticator({
      verifiers: [
        await jwtVerifier({ keys: { secret }, algorithms: ['HS256'], schemeName: 'jwt' }),
        bearerTokenVerifier({ tokens: [{ token: 'fixed', subject: 'bob' }], schemeName: 'fixed' }),
        apiKeyVerifier({ stored: keys, header: 'X-Agent-Key' }),
      ],
    }),
  });
  const jwt = await new SignJWT({ sub: 'alice' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1m')
    .sign(new TextEncoder().encode(secret));
  const response = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { 'a2a-version': '1.0' },
  });
  const card = (await response.json()) as AgentCard;
  expect(card.securitySchemes).toEqual({
    jwt: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    fixed: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-Agent-Key' } },
  });
  expect(card.securityRequirements?.map(({ schemes }) => Object.keys(schemes))).toEqual([
    ['jwt'],
    ['fixed'],
    ['apiKey'],
  ]);
  const accepted: Record<string, string>[] = [
    { authorization: `Bearer ${jwt}` },
    { authorization: 'Bearer fixed' },
    { 'x-agent-key': key },
  ];
  for (const dialect of dialects) {
    for (const headers of accepted) {
      resultOf(dialect, await send(url, dialect.request('listTasks'), headers));
    }
    const undeclared = await send(url, dialect.request('listTasks'), { 'x-api-key': key });
    expect(undeclared.status).toBe(401);
  }
  await store.close();
});

test('an API key that is revoked stops at once, without a restart; others of its owner continue', async () => {
  const store = openMemory();
  const keys = new ApiKeys({ records: store.records });
  const first = await keys.create({ subject: 'carol' });
  const second = await keys.create({ subject: 'carol' });
  const url = await start({
    store,
    auth: new Authenticator({ verifiers: [apiKeyVerifier({ stored: keys })] }),
  });
  const [, rest] = dialects;
  if (rest === undefined) throw new Error('no dialect');
  const status = async (key: string): Promise<number> =>
    (await send(url, rest.request('listTasks'), { 'x-api-key': key })).status;
  expect([await status(first.key), await status(second.key)]).toEqual([200, 200]);
  await keys.revoke(first.record.id);
  expect([await status(first.key), await status(second.key)]).toEqual([401, 200]);
  await store.close();
});

test('credentials that come twice are refused, for which of them would be meant?', async () => {
  const url = await start({
    auth: new Authenticator({
      verifiers: [apiKeyVerifier({ keys: [{ key: 'right', subject: 'bob' }] })],
    }),
  });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const answer = Promise.withResolvers<string>();
  socket.on('data', (data) => answer.resolve(data.toString()));
  socket.write(
    'GET /tasks HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nX-Api-Key: right\r\nX-Api-Key: right\r\n\r\n',
  );
  expect(await answer.promise).toContain('HTTP/1.1 401');
  socket.destroy();
});

test('a server that others can reach does not start without authentication', async () => {
  await expect(serve(actor, { host: '0.0.0.0' })).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  });
  await expect(
    serve(actor, { host: '0.0.0.0', auth: new Authenticator({ verifiers: [] }) }),
  ).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  await using guarded = await serve(actor, { host: '0.0.0.0', auth: await tokenAuthenticator() });
  expect(guarded.port).toBeGreaterThan(0);
  await using overridden = await serve(actor, {
    host: '0.0.0.0',
    dangerouslyAllowUnauthenticatedRemote: true,
  });
  expect(overridden.port).toBeGreaterThan(0);
});

test('credentials go no further than the entrance: neither the agent nor the store gets them', async () => {
  await using directory = await temporaryDirectory();
  const seen: string[] = [];
  const watcher = agent({ name: 'watcher' }, async function* (turn) {
    const { message, caller, metadata, extensions } = turn;
    seen.push(JSON.stringify({ message, caller, metadata, extensions }));
    yield artifact('seen');
  });
  const token = await tokenOf({ sub: 'alice' });
  server = await serve(watcher, {
    auth: await tokenAuthenticator(),
    store: { type: 'sqlite', path: join(directory.path, 'store.db') },
  });
  const url = `http://127.0.0.1:${server.port}`;
  for (const dialect of dialects) {
    const headers = { authorization: `Bearer ${token}` };
    resultOf(dialect, await send(url, dialect.request('sendMessage'), headers));
  }
  expect(seen).toHaveLength(dialects.length);
  expect(seen.every((text) => text.includes('"subject":"alice"'))).toBe(true);
  for (const name of await readdir(directory.path)) {
    seen.push(await readFile(join(directory.path, name), 'latin1'));
  }
  expect(seen.join('\n')).toContain('alice');
  expect(seen.join('\n')).not.toContain(token);
});

test('a card of its own author declares what is verified, and nothing else', async () => {
  const made = await serve(actor, { drainMs: 0 });
  const staticCard: AgentCard = {
    ...made.router.cards.current,
    securitySchemes: { wished: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { wished: { list: [] } } }],
  };
  await made.close();
  const cardAt = async (url: string): Promise<AgentCard> => {
    const headers = { 'a2a-version': '1.0' };
    const response = await fetch(`${url}/.well-known/agent-card.json`, { headers });
    return (await response.json()) as AgentCard;
  };
  server = await serve(actor, { staticCard, drainMs: 0 });
  const open = await cardAt(`http://127.0.0.1:${server.port}`);
  expect(open).not.toHaveProperty('securitySchemes');
  expect(open).not.toHaveProperty('securityRequirements');
  await server?.close();
  const guarded = await cardAt(await start({ staticCard, auth: await tokenAuthenticator() }));
  expect(Object.keys(guarded.securitySchemes ?? {})).toEqual(['bearer']);
});
