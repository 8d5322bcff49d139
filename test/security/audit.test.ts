/** §13.4: refusals and what operators do stand in the log, and no secret does. */
import { afterEach, describe, expect, test } from 'vitest';
import {
  apiKeyVerifier,
  ApiKeys,
  Authenticator,
  bearerTokenVerifier,
  jwtVerifier,
} from '../../src/auth/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { openMemory } from '../../src/store/index.ts';
import { actor } from './support/agents.ts';
import { bearer, tokenAuthenticator, tokenOf } from './support/callers.ts';
import { dialects, send, taskOf } from './support/dialects.ts';
import { MemoryLog } from './support/log.ts';

let server: Serving | undefined;
let log: MemoryLog;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions): Promise<string> {
  log = new MemoryLog();
  server = await serve(actor, { push: {}, drainMs: 0, ...options, logger: log });
  return `http://127.0.0.1:${server.port}`;
}

describe.each(dialects)('$name', (dialect) => {
  const operationName = (operation: 'listTasks' | 'sendMessage' | 'getTask'): string => {
    const { method, path, body } = dialect.request(operation, { id: 'x' });
    return dialect.isRpc
      ? (JSON.parse(body ?? '') as { method: string }).method
      : `${method} ${path}`;
  };

  test('a refusal for missing or invalid credentials is logged with the reason', async () => {
    const url = await start({ auth: await tokenAuthenticator() });
    await send(url, dialect.request('listTasks'));
    await send(url, dialect.request('listTasks'), { authorization: 'Bearer wrong' });
    expect(log.audited('denied')).toMatchObject([
      {
        event: 'audit.unauthenticated',
        level: 'warn',
        code: 'UNAUTHENTICATED',
        address: '127.0.0.1',
        reasons: ['no credentials'],
      },
      { reasons: ['jwt: ERR_JWS_INVALID'] },
    ]);
    // The name of a JSON-RPC method is in the body, which is not read.
    const what = dialect.isRpc ? 'POST /' : operationName('listTasks');
    expect(log.audited('denied').map((line) => line['what'])).toEqual([what, what]);
  });

  test('a scope that is missing, a foreign tenant, a limit and a forbidden webhook are logged', async () => {
    const url = await start({
      auth: await tokenAuthenticator({ tenants: true }),
      skillScopes: { act: ['act'] },
      callerLimits: { requestsPerSecond: 1, burst: 3, clock: { now: () => 0 } },
    });
    const alice = await bearer({ sub: 'alice', tenant: 'acme' });
    await send(url, dialect.request('sendMessage'), alice);
    const bob = await bearer({ sub: 'bob', tenant: 'acme', scope: 'act' });
    const push = { url: 'http://169.254.169.254/latest/meta-data' };
    await send(url, dialect.request('sendMessage', { push }), bob);
    for (let index = 0; index < 3; index += 1) await send(url, dialect.request('listTasks'), bob);
    const who = { tenant: 'acme', method: 'jwt', audit: 'denied', address: '127.0.0.1' };
    expect(log.audited('denied')).toMatchObject([
      { ...who, event: 'audit.forbidden', subject: 'alice', what: operationName('sendMessage') },
      { ...who, event: 'audit.url_refused', subject: 'bob', code: 'INVALID_PARAMS' },
      { ...who, event: 'audit.limited', subject: 'bob', code: 'RATE_LIMITED' },
    ]);
  });

  test('a task that is not there, or not theirs, is an everyday matter', async () => {
    const url = await start({ auth: await tokenAuthenticator() });
    await send(url, dialect.request('getTask', { id: 'x' }), await bearer({ sub: 'alice' }));
    expect(log.audited('denied')).toEqual([]);
  });
});

test('a tenant that is not the caller’s own is logged', async () => {
  const url = await start({ auth: await tokenAuthenticator({ tenants: true }) });
  const [rpc] = dialects;
  if (rpc === undefined) throw new Error('no dialect');
  const alice = await bearer({ sub: 'alice', tenant: 'acme' });
  await send(url, rpc.request('listTasks', { tenant: 'globex' }), alice);
  expect(log.audited('denied')).toMatchObject([
    { event: 'audit.forbidden', subject: 'alice', tenant: 'acme', what: 'ListTasks' },
  ]);
});

test('what operators do is logged: keys made and revoked, deliveries sent again, unauthenticated endpoints', async () => {
  log = new MemoryLog();
  const store = openMemory();
  const keys = new ApiKeys({ records: store.records, logger: log });
  const { key, record } = await keys.create({ subject: 'carol', tenant: 'acme' });
  await keys.revoke(record.id);
  expect(log.audited('action')).toMatchObject([
    { event: 'audit.api_key.created', id: record.id, subject: 'carol', tenant: 'acme' },
    { event: 'audit.api_key.revoked', id: record.id },
  ]);
  expect(log.text()).not.toContain(key);
  await store.close();

  await start({ host: '0.0.0.0', dangerouslyAllowUnauthenticatedRemote: true });
  await server?.router.push?.revive(7);
  expect(log.audited('action')).toMatchObject([
    { event: 'audit.unauthenticated_remote', host: '0.0.0.0' },
    { event: 'audit.push.revived', deliveryId: 7, isRevived: false },
  ]);
});

test('no secret reaches the log, whatever is done with it and however it fails', async () => {
  const secret = 'sixty-four-characters-of-a-jwt-secret-that-must-not-be-logged-ever';
  const store = openMemory();
  const keys = new ApiKeys({ records: store.records });
  const { key } = await keys.create({ subject: 'carol' });
  await using receiver = await startReceiver(
    (_call, response) => void response.writeHead(503).end(),
  );
  const url = await start({
    store,
    push: { maxAttempts: 2, backoff: { initialDelay: 1 } },
    auth: new Authenticator({
      verifiers: [
        await jwtVerifier({ keys: { secret }, algorithms: ['HS256'], schemeName: 'jwt' }),
        bearerTokenVerifier({ tokens: [{ token: 'fixed-token-value', subject: 'bob' }] }),
        apiKeyVerifier({ stored: keys, queryParameter: 'api_key' }),
      ],
    }),
    callerLimits: { requestsPerSecond: 1, burst: 30, clock: { now: () => 0 } },
  });
  const wrongToken = await tokenOf({ sub: 'mallory' });
  const wrongKey = 'lgk_wrong-api-key-value-0123456789';
  const token = 'webhook-token-value';
  const credentials = 'webhook-credentials-value';
  const push = { url: `${receiver.url}/path-secret`, token, scheme: 'Bearer', credentials };
  for (const dialect of dialects) {
    const ask = dialect.request('listTasks');
    await send(url, ask, { authorization: `Bearer ${wrongToken}` });
    await send(url, ask, { authorization: 'Bearer fixed-token-value' });
    await send(url, ask, { 'x-api-key': wrongKey });
    await send(url, { ...ask, path: `${ask.path}?api_key=${wrongKey}` });
    await send(url, { ...ask, path: `${ask.path}?api_key=${key}` });
    const carol = { 'x-api-key': key };
    const sent = await send(url, dialect.request('sendMessage', { push }), carol);
    const { id } = taskOf(dialect, sent);
    await send(
      url,
      dialect.request('createTaskPushNotificationConfig', {
        id,
        push: { ...push, url: 'http://10.0.0.1/path-secret' },
      }),
      carol,
    );
    await send(
      url,
      dialect.request('createTaskPushNotificationConfig', {
        id,
        push: { ...push, credentials: 'webhook-credentials-value\r\nX-Injected: 1' },
      }),
      carol,
    );
  }
  await expect.poll(() => log.lines.some(({ event }) => event === 'push.dead')).toBe(true);
  for (let index = 0; index < 40; index += 1) {
    await fetch(`${url}/tasks`, { headers: { 'a2a-version': '1.0', 'x-api-key': key } });
  }
  const events = new Set(log.lines.map(({ event }) => event));
  for (const event of [
    'audit.unauthenticated',
    'audit.url_refused',
    'audit.limited',
    'push.dead',
  ]) {
    expect(events).toContain(event);
  }
  const text = log.text();
  const secrets = [
    secret,
    wrongToken,
    wrongToken.split('.')[1] ?? '',
    'fixed-token-value',
    key,
    wrongKey,
    token,
    credentials,
    'path-secret',
  ];
  for (const each of secrets) expect(text).not.toContain(each);
  await server?.close();
  await store.close();
});
