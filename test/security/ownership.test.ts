/**
 * §13.1: tasks, contexts, push configurations, lists, subscriptions and cancels belong to one caller of
 * one tenant of one agent. To everybody else they look exactly like things that do not exist.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import { serveAll, type ServingAll } from '../../src/http/index.ts';
import type { Operation } from '../../src/protocol/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { actor } from './support/agents.ts';
import { bearer, tokenAuthenticator } from './support/callers.ts';
import {
  type Answer,
  codeOf,
  type Dialect,
  dialects,
  resultOf,
  send,
  taskOf,
} from './support/dialects.ts';

let server: ServingAll;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let alice: Readonly<Record<string, string>>;
/** Who is not alice of acme at the actor, and where they try. */
const strangers: [string, Readonly<Record<string, string>>, string][] = [];
beforeAll(async () => {
  receiver = await startReceiver();
  server = await serveAll(
    { actor, twin: agent({ ...actor, name: 'twin' }, (turn) => actor.take(turn)) },
    { auth: await tokenAuthenticator({ tenants: true }), push: {}, drainMs: 0 },
  );
  alice = await bearer({ sub: 'alice', tenant: 'acme' });
  strangers.push(
    ['another caller', await bearer({ sub: 'bob', tenant: 'acme' }), 'actor'],
    ['the same name in another tenant', await bearer({ sub: 'alice', tenant: 'globex' }), 'actor'],
    ['the owner at another agent', alice, 'twin'],
  );
});
afterAll(async () => {
  await server.close();
  await receiver[Symbol.asyncDispose]();
});

const at = (name: string): string => `http://127.0.0.1:${server.port}/${name}`;

/** Everything that names a task. */
const attempts: readonly [Operation, object][] = [
  ['getTask', {}],
  ['cancelTask', {}],
  ['subscribeToTask', {}],
  ['sendMessage', { text: 'intrude' }],
  ['sendStreamingMessage', { text: 'intrude' }],
  ['createTaskPushNotificationConfig', { push: { url: 'https://example.com/steal' } }],
  ['getTaskPushNotificationConfig', { configId: 'hook' }],
  ['listTaskPushNotificationConfigs', {}],
  ['deleteTaskPushNotificationConfig', { configId: 'hook' }],
];

/** What of an answer could tell one thing from another, with the id itself taken out. */
function seen({ status, headers, text }: Answer, id: string): object {
  const telling = ['content-type', 'www-authenticate', 'retry-after', 'cache-control', 'etag'];
  return {
    status,
    headers: telling.map((name) => headers.get(name)),
    text: text.replaceAll(id, '<id>'),
  };
}

async function waitingTask(dialect: Dialect): Promise<{ id: string; contextId: string }> {
  const push = { id: 'hook', url: `${receiver.url}/alice` };
  return taskOf(
    dialect,
    await send(at('actor'), dialect.request('sendMessage', { text: 'ask', push }), alice),
  );
}

describe.each(dialects)('$name', (dialect) => {
  test.each(attempts)(
    'AUTH-SCOPE-003: %s finds nothing of others, as if it were not there',
    async (operation, parameters) => {
      const task = await waitingTask(dialect);
      const absentId = crypto.randomUUID();
      const before = await send(at('actor'), dialect.request('getTask', task), alice);
      for (const [who, token, name] of strangers) {
        const foreign = await send(
          at(name),
          dialect.request(operation, { ...parameters, id: task.id }),
          token,
        );
        const absent = await send(
          at(name),
          dialect.request(operation, { ...parameters, id: absentId }),
          token,
        );
        expect(seen(foreign, task.id), who).toEqual(seen(absent, absentId));
        expect(codeOf(foreign), who).toBe('TASK_NOT_FOUND');
      }
      // Nothing of it had any effect either.
      const after = await send(at('actor'), dialect.request('getTask', task), alice);
      expect(after.text).toBe(before.text);
      const configs = await send(
        at('actor'),
        dialect.request('listTaskPushNotificationConfigs', task),
        alice,
      );
      expect(configs.text).toContain('hook');
      expect(configs.text).not.toContain('steal');
      // The owner is let in by all the same ways.
      const own = await send(
        at('actor'),
        dialect.request(operation === 'subscribeToTask' ? 'getTask' : operation, {
          ...parameters,
          id: task.id,
        }),
        alice,
      );
      expect(own.status).toBe(200);
      expect(own.text).not.toContain('TASK_NOT_FOUND');
    },
  );

  test('AUTH-SCOPE-002: lists have the caller’s own tasks and no others, with and without filters', async () => {
    const { id, contextId } = await waitingTask(dialect);
    const own = await send(at('actor'), dialect.request('listTasks', { contextId }), alice);
    expect(own.text).toContain(id);
    for (const [who, token, name] of strangers) {
      for (const filter of [{}, { contextId }]) {
        const list = await send(at(name), dialect.request('listTasks', filter), token);
        resultOf(dialect, list);
        expect(list.text, who).not.toContain(id);
        expect(list.text, who).not.toContain(contextId);
      }
    }
  });

  test('a context of others is a new one: neither its state nor its messages are there', async () => {
    const contextId = crypto.randomUUID();
    const say = (token: typeof alice, name: string, messageId: string) =>
      send(at(name), dialect.request('sendMessage', { text: 'hi', contextId, messageId }), token);
    expect((await say(alice, 'actor', 'first')).text).toContain('turn 1');
    for (const [who, token, name] of strangers) {
      const answer = await say(token, name, 'first');
      expect(answer.text, who).toContain('turn 1');
    }
    const again = await say(alice, 'actor', 'second');
    expect(again.text).toContain('turn 2');
  });
});

test('a page token of others is as good as an invented one', async () => {
  const [dialect] = dialects;
  if (dialect === undefined) throw new Error('no dialect');
  for (let index = 0; index < 2; index += 1) await waitingTask(dialect);
  const page = (more: object, token: typeof alice) =>
    send(
      at('actor'),
      {
        method: 'GET',
        path: `/tasks?${new URLSearchParams({ pageSize: '1', ...more }).toString()}`,
        headers: { 'a2a-version': '1.0' },
      },
      token,
    );
  const { nextPageToken } = (await page({}, alice)).body as { nextPageToken: string };
  expect(nextPageToken).not.toBe('');
  expect((await page({ pageToken: nextPageToken }, alice)).status).toBe(200);
  for (const [who, token, name] of strangers) {
    if (name !== 'actor') continue;
    const foreign = await page({ pageToken: nextPageToken }, token);
    const invented = await page({ pageToken: 'invented' }, token);
    expect(foreign.status, who).toBe(400);
    expect(foreign.text, who).toBe(invented.text);
  }
});

test('what goes to a webhook of one task is of that task alone', async () => {
  const [dialect] = dialects;
  if (dialect === undefined) throw new Error('no dialect');
  const { id } = await waitingTask(dialect);
  await expect
    .poll(() => receiver.calls.filter(({ body }) => body.includes(id)).length)
    .toBeGreaterThan(0);
  const bob = strangers[0]?.[1] ?? {};
  const { id: other } = taskOf(
    dialect,
    await send(at('actor'), dialect.request('sendMessage', { text: 'secret of bob' }), bob),
  );
  await send(at('actor'), dialect.request('sendMessage', { id, text: 'the end' }), alice);
  await expect
    .poll(() => receiver.calls.some(({ body }) => body.includes('TASK_STATE_COMPLETED')))
    .toBe(true);
  expect(receiver.calls.some(({ body }) => body.includes(other))).toBe(false);
});
