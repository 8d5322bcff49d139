/** §4.4.6: a tenant is named by the path, by a field or by the caller's token, and is a wall. */
import { afterEach, describe, expect, test } from 'vitest';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import type { Operation } from '../../src/protocol/index.ts';
import { actor } from './support/agents.ts';
import { bearer, tokenAuthenticator } from './support/callers.ts';
import {
  type Answer,
  codeOf,
  dialects,
  type Parameters,
  send,
  taskOf,
  type WireRequest,
} from './support/dialects.ts';

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions): Promise<string> {
  server = await serve(actor, { push: {}, drainMs: 0, ...options });
  return `http://127.0.0.1:${server.port}`;
}

const [rpc, rest] = dialects;
if (rpc === undefined || rest === undefined) throw new Error('no dialects');

/** The ways in which 1.0 names a tenant. */
const spellings: Record<
  string,
  (tenant: string, operation: Operation, more: Parameters) => WireRequest
> = {
  'JSON-RPC, field': (tenant, operation, more) => rpc.request(operation, { ...more, tenant }),
  'REST, field': (tenant, operation, more) => rest.request(operation, { ...more, tenant }),
  'REST, path': (tenant, operation, more) => {
    const request = rest.request(operation, more);
    return { ...request, path: `/${encodeURIComponent(tenant)}${request.path}` };
  },
};
const ways = Object.entries(spellings).map(([name, request]) => ({ name, request }));

/** Every operation that names a task, to be tried from the wrong side of the wall. */
const operations: readonly [Operation, Parameters][] = [
  ['getTask', {}],
  ['cancelTask', {}],
  ['subscribeToTask', {}],
  ['sendMessage', { text: 'intrude' }],
  ['sendStreamingMessage', { text: 'intrude' }],
  ['createTaskPushNotificationConfig', { push: { url: 'https://example.com/' } }],
  ['getTaskPushNotificationConfig', { configId: 'hook' }],
  ['listTaskPushNotificationConfigs', {}],
  ['deleteTaskPushNotificationConfig', { configId: 'hook' }],
];

const idOf = (name: string, answer: Answer): string =>
  taskOf(name.startsWith('JSON') ? rpc : rest, answer).id;

describe.each(ways)('$name', ({ name, request }) => {
  test.each([
    ['nobody proves anything', async (): Promise<ServeOptions> => ({}), {}],
    [
      'callers belong to no tenant of their own',
      async (): Promise<ServeOptions> => ({ auth: await tokenAuthenticator() }),
      { sub: 'alice' },
    ],
  ])('tenants are kept apart where %s', async (_where, options, claims) => {
    const url = await start(await options());
    const token = 'sub' in claims ? await bearer({ sub: claims.sub }) : {};
    const id = idOf(name, await send(url, request('acme', 'sendMessage', { text: 'ask' }), token));
    expect((await send(url, request('acme', 'getTask', { id }), token)).status).toBe(200);
    for (const [operation, more] of operations) {
      for (const tenant of ['globex', 'ACME', 'acme ', 'acme/..']) {
        const answer = await send(url, request(tenant, operation, { ...more, id }), token);
        expect(codeOf(answer), `${operation} in ${tenant}`).toBe('TASK_NOT_FOUND');
      }
      const nowhere = await send(url, rest.request(operation, { ...more, id }), token);
      expect(codeOf(nowhere), `${operation} without a tenant`).toBe('TASK_NOT_FOUND');
    }
    const list = await send(url, request('globex', 'listTasks', {}), token);
    expect(list.text).not.toContain(id);
  });

  test('a token that names its tenant leads nowhere else, whatever the request says', async () => {
    const url = await start({ auth: await tokenAuthenticator({ tenants: true }) });
    const token = await bearer({ sub: 'alice', tenant: 'acme' });
    // To name it and to leave it out is the same.
    const id = idOf(name, await send(url, request('acme', 'sendMessage', { text: 'ask' }), token));
    expect((await send(url, rest.request('getTask', { id }), token)).status).toBe(200);
    const all: readonly [Operation, Parameters][] = [
      ...operations,
      ['listTasks', {}],
      ['getExtendedAgentCard', {}],
    ];
    for (const [operation, more] of all) {
      const foreign = await send(url, request('globex', operation, { ...more, id }), token);
      expect([operation, codeOf(foreign), foreign.status]).toEqual([
        operation,
        'PERMISSION_DENIED',
        403,
      ]);
      // It is the tenant that is refused: whether the task exists makes no difference.
      const absent = await send(
        url,
        request('globex', operation, { ...more, id: 'absent' }),
        token,
      );
      expect(foreign.text.replaceAll(id, 'absent')).toBe(absent.text);
    }
    const stranger = await bearer({ sub: 'alice', tenant: 'globex' });
    expect(codeOf(await send(url, request('globex', 'getTask', { id }), stranger))).toBe(
      'TASK_NOT_FOUND',
    );
  });
});

test('all ways of naming a tenant lead to the same place', async () => {
  const url = await start({ auth: await tokenAuthenticator() });
  const token = await bearer({ sub: 'alice' });
  for (const { name, request } of ways) {
    const id = idOf(name, await send(url, request('acme', 'sendMessage', {}), token));
    for (const other of ways) {
      const found = await send(url, other.request('acme', 'getTask', { id }), token);
      expect(found.text, `${name}, then ${other.name}`).toContain(id);
    }
  }
});

test('a path and a field that disagree are refused before anything is looked up', async () => {
  const url = await start({});
  const request = rest.request('sendMessage', { tenant: 'globex' });
  const answer = await send(url, { ...request, path: `/acme${request.path}` });
  expect([answer.status, codeOf(answer)]).toEqual([400, 'INVALID_PARAMS']);
});

test('where tokens must name a tenant, one that does not is refused', async () => {
  const url = await start({ auth: await tokenAuthenticator({ tenants: true }) });
  const answer = await send(url, rest.request('listTasks'), await bearer({ sub: 'alice' }));
  expect([answer.status, codeOf(answer)]).toEqual([401, 'UNAUTHENTICATED']);
});

test('0.3 has no field for tenants: they are kept apart by path all the same', async () => {
  const url = await start({ auth: await tokenAuthenticator({ tenants: true }) });
  const [, , , rest03] = dialects;
  if (rest03 === undefined) throw new Error('no dialect');
  const token = await bearer({ sub: 'alice', tenant: 'acme' });
  const { id } = taskOf(rest03, await send(url, rest03.request('sendMessage'), token));
  const below = (tenant: string) =>
    send(url, { method: 'GET', path: `/v1/${tenant}/tasks/${id}`, headers: {} }, token);
  expect((await below('acme')).status).toBe(200);
  expect((await below('globex')).status).toBe(403);
  await server?.close();
  const open = await start({});
  const request = rest03.request('sendMessage');
  const sent = await send(open, { ...request, path: request.path.replace('/v1', '/v1/acme') });
  const task = taskOf(rest03, sent).id;
  const status = async (path: string): Promise<number> =>
    (await send(open, { method: 'GET', path, headers: {} })).status;
  expect(await status(`/v1/acme/tasks/${task}`)).toBe(200);
  expect(await status(`/v1/globex/tasks/${task}`)).toBe(404);
  expect(await status(`/v1/tasks/${task}`)).toBe(404);
});

test('a resource name of 0.3 cannot lead to another task than the path', async () => {
  const url = await start({});
  const [, , , rest03] = dialects;
  if (rest03 === undefined) throw new Error('no dialect');
  const ids: string[] = [];
  for (let index = 0; index < 2; index += 1) {
    ids.push(taskOf(rest03, await send(url, rest03.request('sendMessage'))).id);
  }
  const [id = '', other = ''] = ids;
  const create = (name: string) =>
    send(url, {
      method: 'POST',
      path: `/v1/tasks/${id}/pushNotificationConfigs`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, pushNotificationConfig: { url: 'https://example.com/' } }),
    });
  const path = `tasks/${id}/pushNotificationConfigs/c`;
  expect((await create(path)).status).toBe(200);
  expect((await create(path.replace(id, other))).status).toBe(400);
});
