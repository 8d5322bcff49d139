import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import { admitOperator, callersAccess } from './access.ts';
import { inspectedServer } from './testing/inspected-server.ts';

const auth = new Authenticator({
  verifiers: [
    bearerTokenVerifier({
      tokens: [
        { token: 'operator-token', subject: 'olga', scopes: ['inspect'] },
        { token: 'caller-token', subject: 'carl' },
      ],
    }),
  ],
});
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** With headers that `fetch` does not let one set. */
function statusWith(port: number, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = httpRequest(
      { port, host: '127.0.0.1', path: '/inspect/api/about', headers },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    call.once('error', reject);
    call.end();
  });
}

test('on this machine, without authentication, anybody may look', async () => {
  await using server = await inspectedServer();
  expect((await server.api('about')).status).toBe(200);
});

test('a server that asks nobody shows nothing to other machines', async () => {
  const open = callersAccess(new Authenticator({ verifiers: [] }));
  const from = (remoteAddress: string) =>
    ({ socket: { remoteAddress }, headers: { host: 'localhost' } }) as unknown as IncomingMessage;
  const query = new URLSearchParams();
  await expect(admitOperator([open], from('10.0.0.7'), query)).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('configure authentication') as string,
  });
  await expect(admitOperator([open], from('::ffff:127.0.0.1'), query)).resolves.toMatchObject({
    method: 'anonymous',
  });
});

test('a name that was made to point here is refused', async () => {
  await using server = await inspectedServer();
  expect(await statusWith(server.serving.port, { host: 'evil.example' })).toBe(403);
  expect(await statusWith(server.serving.port, { host: 'localhost' })).toBe(200);
});

test('other pages may not even read, whatever origins may call the agent', async () => {
  await using server = await inspectedServer({ cors: ['*'] });
  const { port } = server.serving;
  const host = `localhost:${port}`;
  expect(await statusWith(port, { host, origin: 'https://evil.example' })).toBe(403);
  expect(await statusWith(port, { host, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusWith(port, { host, 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await statusWith(port, { host, 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await statusWith(port, { host, origin: `http://${host}` })).toBe(200);
});

test('where callers say who they are, only operators may look', async () => {
  await using server = await inspectedServer({ auth });
  const without = await server.api('about');
  expect(without.status).toBe(401);
  expect(without.headers.has('www-authenticate')).toBe(false);
  expect((await server.api('about', bearer('wrong'))).status).toBe(401);
  const caller = await server.api('about', bearer('caller-token'));
  expect(caller.status).toBe(403);
  expect(await caller.text()).toContain('scope inspect');
  const operator = await server.api('about', bearer('operator-token'));
  expect(await operator.json()).toMatchObject({ operator: 'olga' });
});

test('who is an operator can be said otherwise', async () => {
  await using server = await inspectedServer(
    { auth },
    { isOperator: ({ subject }) => subject === 'carl' },
  );
  expect((await server.api('about', bearer('caller-token'))).status).toBe(200);
  expect((await server.api('about', bearer('operator-token'))).status).toBe(403);
});

test('the agent behind the inspector is talked to as whoever looks', async () => {
  await using server = await inspectedServer({ auth });
  const url = `${server.url}/inspect/a2a/bakery`;
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
  });
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(401);
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, authorization: 'Bearer operator-token' },
    body,
  });
  const { result } = (await answer.json()) as { result: { task: { id: string } } };
  const record = await server.serving.router.store.load(result.task.id);
  expect(record?.owner).toBe('["bakery","","olga"]');
});

test('refusals are told to the operator of the server', async () => {
  const told: unknown[] = [];
  const logger = {
    debug() {},
    info() {},
    error() {},
    warn: (fields: unknown, event: unknown) => void told.push([event, fields]),
    child: () => logger,
  };
  await using server = await inspectedServer({ auth, logger });
  await server.api('about', bearer('caller-token'));
  expect(told).toContainEqual([
    'audit.forbidden',
    expect.objectContaining({ what: 'GET /inspect/api/about', code: 'PERMISSION_DENIED' }),
  ]);
});
