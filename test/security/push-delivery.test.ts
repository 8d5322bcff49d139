/** §4.3.3, §13.2: what a receiver gets from a real server, in which order, and through which troubles. */
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { agent, inputRequired, textOf, working } from '../../src/agents/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import {
  bodySigner,
  generateSigningKey,
  publicKeySet,
  type PublicKeySet,
  verifyBodySignature,
} from '../../src/push/index.ts';
import { type ReceivedCall, startReceiver } from '../../src/push/receiver.contract.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { startPushServer } from './support/child.ts';
import { dialects, resultOf, send, taskOf } from './support/dialects.ts';

const [rpc, , rpc03] = dialects;
if (rpc === undefined || rpc03 === undefined) throw new Error('no dialects');

const worker = agent({ name: 'worker', serialise: 'task' }, async function* () {
  yield working('one');
  yield working('two');
  yield artifact('three');
});

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}): Promise<string> {
  server = await serve(worker, {
    drainMs: 0,
    push: { backoff: { initialDelay: 1, factor: 1 } },
    ...options,
  });
  return `http://127.0.0.1:${server.port}`;
}

/** The number of the event that a call is about. */
const sequenceOf = ({ headers }: ReceivedCall): number =>
  Number(String(headers['idempotency-key']).split('/').at(-1));
const member = ({ body }: ReceivedCall): string => Object.keys(JSON.parse(body) as object).join();

test('PUSH-DELIVER-002, PUSH-DELIVER-003: every update of the task is posted, in order, as one StreamResponse', async () => {
  await using receiver = await startReceiver();
  const url = await start();
  const push = { url: `${receiver.url}/hook` };
  const { id } = taskOf(rpc, await send(url, rpc.request('sendMessage', { push })));
  await expect.poll(() => receiver.calls.length).toBe(6);
  expect(receiver.calls.map(member)).toEqual([
    'task',
    'statusUpdate',
    'statusUpdate',
    'statusUpdate',
    'artifactUpdate',
    'statusUpdate',
  ]);
  expect(receiver.calls.map(sequenceOf)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(receiver.calls.every(({ method, body }) => method === 'POST' && body.includes(id))).toBe(
    true,
  );
  const keys = receiver.calls.map(({ headers }) => headers['idempotency-key']);
  expect(new Set(keys).size).toBe(6);
});

test('PUSH-DELIVER-001: authentication goes along as the header that was asked for, and only then', async () => {
  await using receiver = await startReceiver();
  const url = await start();
  const authenticated = {
    url: `${receiver.url}/with`,
    scheme: 'Basic',
    credentials: 'dXNlcjpwYXNz',
    token: 'by token',
  };
  await send(url, rpc.request('sendMessage', { push: authenticated }));
  await send(url, rpc.request('sendMessage', { push: { url: `${receiver.url}/without` } }));
  await expect.poll(() => receiver.calls.length).toBe(12);
  for (const { path, headers } of receiver.calls) {
    const expected = path === '/with' ? ['Basic dXNlcjpwYXNz', 'by token'] : [undefined, undefined];
    expect([headers.authorization, headers['x-a2a-notification-token']]).toEqual(expected);
  }
});

test('0.3 receivers get the whole task, as it was at each event', async () => {
  await using receiver = await startReceiver();
  const url = await start();
  await send(url, rpc03.request('sendMessage', { push: { url: receiver.url } }));
  await expect.poll(() => receiver.calls.length).toBe(6);
  const tasks = receiver.calls.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(tasks.map(({ kind }) => kind)).toEqual(Array(6).fill('task'));
  expect(tasks.map(({ status }) => (status as { state: string }).state)).toEqual([
    'submitted',
    'working',
    'working',
    'working',
    'working',
    'completed',
  ]);
  expect(tasks.map(({ artifacts }) => (artifacts === undefined ? 0 : 1))).toEqual([
    0, 0, 0, 0, 1, 1,
  ]);
});

test('calls belong to the trace of the request that registered them', async () => {
  await using receiver = await startReceiver();
  const url = await start();
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const push = { id: 'c', url: receiver.url };
  // Invalid entries of tracestate are dropped.
  const trace = { traceparent, tracestate: 'congo=t61rcWkgMzE,NOT VALID' };
  const sent = await send(url, rpc.request('sendMessage', { push }), trace);
  await expect.poll(() => receiver.calls.length).toBe(6);
  for (const { headers } of receiver.calls) {
    expect(headers).toMatchObject({ traceparent, tracestate: 'congo=t61rcWkgMzE' });
  }
  // It is no part of the configuration.
  const { id } = taskOf(rpc, sent);
  const got = await send(url, rpc.request('getTaskPushNotificationConfig', { id, configId: 'c' }));
  expect(got.text).not.toContain('0af7651916cd43dd');
  expect(got.text).not.toContain('t61rcWkgMzE');
  await send(url, rpc.request('sendMessage', { push }), { ...trace, traceparent: 'x\ty' });
  await expect.poll(() => receiver.calls.length).toBe(12);
  for (const { headers } of receiver.calls.slice(6)) {
    expect(headers).not.toHaveProperty('traceparent');
    expect(headers).not.toHaveProperty('tracestate');
  }
});

test('signed bodies are verified with the keys that the server publishes, and with no others', async () => {
  await using receiver = await startReceiver();
  const signer = bodySigner([
    generateSigningKey({ kid: 'now' }),
    generateSigningKey({ kid: 'then' }),
  ]);
  const url = await start({ push: { signer } });
  const hook = `${receiver.url}/signed`;
  await send(url, rpc.request('sendMessage', { push: { url: hook } }));
  await expect.poll(() => receiver.calls.length).toBe(6);
  const published = await fetch(`${url}/.well-known/jwks.json`);
  const keys = (await published.json()) as PublicKeySet;
  expect(keys.keys.map(({ kid }) => kid)).toEqual(['now', 'then']);
  expect(JSON.stringify(keys)).not.toContain('"d":');
  expect(published.headers.get('cache-control')).toContain('max-age');
  const now = Date.now();
  for (const { headers, body } of receiver.calls) {
    const signature = String(headers['x-a2a-signature']);
    const options = { keys, audience: hook, now };
    const { id } = await verifyBodySignature(signature, body, options);
    expect(id).toBe(headers['idempotency-key']);
    const refused = { code: 'UNAUTHENTICATED' };
    await expect(verifyBodySignature(signature, `${body} `, options)).rejects.toMatchObject(
      refused,
    );
    await expect(
      verifyBodySignature(signature, body, { ...options, audience: `${receiver.url}/other` }),
    ).rejects.toMatchObject(refused);
    await expect(
      verifyBodySignature(signature, body, { ...options, now: now + 2 * 86_400_000 }),
    ).rejects.toMatchObject(refused);
    const strange = publicKeySet([generateSigningKey({ kid: 'now' })]);
    await expect(
      verifyBodySignature(signature, body, { ...options, keys: strange }),
    ).rejects.toMatchObject(refused);
  }
});

test('without a signer there are no keys to publish', async () => {
  const url = await start();
  expect((await fetch(`${url}/.well-known/jwks.json`)).status).toBe(404);
});

test('a failing receiver is retried with the same key, in order, and does not delay others', async () => {
  const failing = new Set<string>();
  await using receiver = await startReceiver((call, response) => {
    const key = String(call.headers['idempotency-key']);
    const isFirst = call.path === '/troubled' && !failing.has(key);
    if (isFirst) failing.add(key);
    response.writeHead(isFirst ? 503 : 204).end();
  });
  const url = await start();
  const hold = { id: 'troubled', url: `${receiver.url}/troubled` };
  const sent = await send(url, rpc.request('sendMessage', { push: hold }));
  // The task ends whether or not anybody was told.
  expect(sent.text).toContain('TASK_STATE_COMPLETED');
  await send(url, rpc.request('sendMessage', { push: { url: `${receiver.url}/well` } }));
  await expect.poll(() => receiver.calls.length).toBe(18);
  const troubled = receiver.calls.filter(({ path }) => path === '/troubled').map(sequenceOf);
  expect(troubled).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
});

test('kill -9 in the middle: what was owed is delivered after the restart, all of it and in order', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  let isHanging = true;
  /** Calls that were taken, by webhook: the events in the order of their coming. */
  const taken = new Map<string, number[]>();
  let started = 0;
  await using receiver = await startReceiver((call, response) => {
    started += 1;
    // Some are taken, and their answers lost with the sender; most are never answered at all.
    if (isHanging && started > 40) return;
    const events = taken.get(call.path) ?? [];
    taken.set(call.path, events);
    events.push(sequenceOf(call));
    response.writeHead(204).end();
  });
  const before = await startPushServer(path);
  const tasks = 30;
  for (let index = 0; index < tasks; index += 1) {
    const push = { url: `${receiver.url}/${index}` };
    resultOf(rpc, await send(before.url, rpc.request('sendMessage', { push })));
  }
  await expect.poll(() => started).toBeGreaterThan(42);
  await before.kill();
  isHanging = false;
  await using _after = await startPushServer(path);
  const inOrder = [1, 2, 3, 4, 5, 6];
  await expect
    .poll(() => [...taken.values()].filter((events) => events.at(-1) === 6).length, {
      timeout: 20_000,
    })
    .toBe(tasks);
  for (const [hook, events] of taken) {
    // At least once: a call whose answer was lost comes again, and never one before it.
    expect([hook, [...new Set(events)]]).toEqual([hook, inOrder]);
    expect([hook, [...events].sort((a, b) => a - b)]).toEqual([hook, events]);
  }
});

/** Asks when it hears `ask`, and else works until it is told to stop. */
const patient = agent({ name: 'patient' }, async function* (turn) {
  if (textOf(turn.message) === 'ask') {
    yield inputRequired('Which one?');
    return;
  }
  yield working('at it');
  await new Promise((_, reject) => {
    turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error));
  });
});

test.each([
  ['ask', 'TASK_STATE_INPUT_REQUIRED'],
  ['work', 'TASK_STATE_WORKING'],
])('a cancel reaches the webhook, whether the task waits or works (%s)', async (text, state) => {
  await using receiver = await startReceiver();
  server = await serve(patient, {
    drainMs: 0,
    push: { backoff: { initialDelay: 1, factor: 1 } },
  });
  const url = `http://127.0.0.1:${server.port}`;
  const push = { url: receiver.url };
  const sent = await send(url, rpc.request('sendMessage', { push, text, immediately: true }));
  const { id } = taskOf(rpc, sent);
  const told = () => receiver.calls.map(stateIn).filter((one) => one !== undefined);
  await expect.poll(told, { timeout: 10_000 }).toContain(state);
  await send(url, rpc.request('cancelTask', { id }));
  await expect.poll(() => told().at(-1), { timeout: 10_000 }).toBe('TASK_STATE_CANCELED');
  expect(told().filter((one) => one === 'TASK_STATE_CANCELED')).toHaveLength(1);
});

function stateIn({ body }: ReceivedCall): string | undefined {
  const { statusUpdate } = JSON.parse(body) as { statusUpdate?: { status: { state: string } } };
  return statusUpdate?.status.state;
}
