import { beforeEach, expect, test } from 'vitest';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { postgres } from '../support/postgres.ts';
import {
  cancel,
  type Frame,
  getTask,
  leave,
  send,
  sendStream,
  stateOf,
  subscribe,
  textOf,
} from './calls.ts';
import { Cluster } from './cluster.ts';

let database: string;
beforeEach(async () => {
  database = await (await postgres()).database();
});

test('turns of one context run one at a time and in order, whichever replica takes the message', async () => {
  await using cluster = await Cluster.start({ database });
  const ids: string[] = [];
  for (let index = 0; index < 12; index += 1) {
    const text = index === 0 ? 'wait start' : `say ${index}`;
    ids.push((await leave(cluster.next(), text, { contextId: 'c' })).task.id);
  }
  expect(cluster.began).toHaveLength(1);
  cluster.open('start');
  const last = ids.at(-1) ?? '';
  await expect
    .poll(async () => stateOf(await getTask(cluster.next(), last)), { timeout: 10_000 })
    .toBe('COMPLETED');
  const counts = await Promise.all(
    ids.map(async (id) => textOf(await getTask(cluster.next(), id))),
  );
  expect(counts).toEqual(ids.map((_, index) => String(index + 1)));
  expect(cluster.began.map(({ began }) => began.split(' ')[1])).toEqual(
    ids.map((_, index) => (index === 0 ? 'start' : String(index))),
  );
  const blocking = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      send(cluster.next(), `more ${index}`, { contextId: 'c' }),
    ),
  );
  expect(blocking.map(({ task }) => Number(textOf(task))).sort((a, b) => a - b)).toEqual([
    13, 14, 15, 16, 17, 18,
  ]);
});

test('a repeated message is recognised on every replica: in flight, answered, or reused', async () => {
  await using cluster = await Cluster.start({ database });
  const [here, there] = [cluster.at(0), cluster.at(1)];
  const saying = { contextId: 'c', messageId: 'm' };
  const first = send(here, 'wait a', saying);
  await expect.poll(() => cluster.began).toHaveLength(1);
  const early = await send(there, 'wait a', saying);
  expect(early.status).toBe(409);
  expect(early.headers.get('retry-after')).toBe('1');
  expect(early.error.details[0]?.reason).toBe('MESSAGE_IN_FLIGHT');
  cluster.open('a');
  const answered = await first;
  const again = await send(there, 'wait a', saying);
  expect(again.task).toEqual(answered.task);
  const reused = await send(there, 'something else', saying);
  expect(reused.status).toBe(409);
  expect(reused.error.details[0]?.reason).toBe('MESSAGE_ID_REUSED');
  expect(cluster.began).toHaveLength(1);
});

test('the limit of contexts counts those of all replicas', async () => {
  await using cluster = await Cluster.start({ database, maxContexts: 2 });
  const asked = [];
  for (const contextId of ['a', 'b', 'c', 'd']) {
    asked.push((await send(cluster.next(), 'ask', { contextId })).task);
  }
  expect(asked.map(stateOf)).toEqual(['INPUT_REQUIRED', 'INPUT_REQUIRED', 'FAILED', 'FAILED']);
  expect(asked[3]?.metadata).toEqual({ error_type: 'context_limit' });
  const [open] = asked;
  await send(cluster.next(), 'go on', { taskId: open?.id ?? '' });
  expect(stateOf((await send(cluster.next(), 'ask', { contextId: 'e' })).task)).toBe(
    'INPUT_REQUIRED',
  );
});

test('a cancel reaches the turn on the other replica, and every caller of it', async () => {
  await using cluster = await Cluster.start({ database });
  const [here, there] = [cluster.at(0), cluster.at(1)];
  const sent = send(here, 'wait for-ever', { contextId: 'c' });
  await expect.poll(() => cluster.began).toHaveLength(1);
  const queued = await leave(there, 'say x', { contextId: 'c' });
  const { id } = (await listed(here, 'c')).find((task) => task.id !== queued.task.id) ?? { id: '' };
  const canceled = await cancel(there, id);
  expect(stateOf(canceled.task)).toBe('CANCELED');
  expect(stateOf((await sent).task)).toBe('CANCELED');
  await expect
    .poll(async () => stateOf(await getTask(there, queued.task.id)), { timeout: 10_000 })
    .toBe('COMPLETED');
});

async function listed(replica: { url: string }, contextId: string): Promise<{ id: string }[]> {
  const response = await fetch(`${replica.url}/tasks?contextId=${contextId}`, {
    headers: { 'a2a-version': '1.0' },
  });
  return ((await response.json()) as { tasks: { id: string }[] }).tasks;
}

test('a turn that takes too long ends for callers on every replica', async () => {
  await using cluster = await Cluster.start({ database, taskTimeoutMs: 300 });
  const [here, there] = [cluster.at(0), cluster.at(1)];
  const first = await leave(here, 'hang', { contextId: 'c' });
  const behind = send(there, 'say x', { contextId: 'c' });
  const events = await Array.fromAsync(await subscribe(there, first.task.id));
  expect(events.at(-1)?.data).toContain('"error_type":"timeout"');
  expect(stateOf((await behind).task)).toBe('COMPLETED');
});

test('a subscriber on the other replica sees each event as it comes', async () => {
  await using cluster = await Cluster.start({ database });
  const [here, there] = [cluster.at(0), cluster.at(1)];
  const { task } = await leave(here, 'chunks live');
  const events = await subscribe(there, task.id);
  const seen: Frame[] = [(await events.next()).value as Frame];
  for (const index of [0, 1, 2]) {
    cluster.open(`live.${index}`);
    let frame = (await events.next()).value as Frame;
    if (frame.data.includes('TASK_STATE_WORKING')) {
      // The subscription came before the start of the turn.
      seen.push(frame);
      frame = (await events.next()).value as Frame;
    }
    expect(frame.data).toContain(`"text":"${index} "`);
    seen.push(frame);
  }
  for await (const frame of events) seen.push(frame);
  const first = seen[0]?.id ?? 0;
  expect(seen.map(({ id }) => id)).toEqual(seen.map((_, index) => first + index));
  expect(seen.at(-1)?.data).toContain('TASK_STATE_COMPLETED');
});

test('Last-Event-ID continues exactly there on the other replica', async () => {
  await using cluster = await Cluster.start({ database });
  const [here, there] = [cluster.at(0), cluster.at(1)];
  const events = await sendStream(here, 'chunks resumed');
  const first = (await events.next()).value as Frame;
  cluster.open('resumed.0');
  const second = (await events.next()).value as Frame;
  await events.return(undefined);
  cluster.open('resumed.1');
  cluster.open('resumed.2');
  const id = /"id":"([^"]+)"/.exec(first.data)?.[1] ?? '';
  const rest = await Array.fromAsync(await subscribe(there, id, second.id));
  expect(rest.map((frame) => frame.id)).toEqual(rest.map((_, index) => second.id + 1 + index));
  expect(rest.map(({ data }) => data).join('')).toMatch(/1 .*2 .*COMPLETED/);
});

test('webhooks are called once for each event and in order, by whichever replica claims them', async () => {
  await using receiver = await startReceiver();
  await using cluster = await Cluster.start({ database }, 3);
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      send(
        cluster.next(),
        `say ${index}`,
        {},
        {
          taskPushNotificationConfig: { url: `${receiver.url}/${index}` },
        },
      ),
    ),
  );
  const owed = sent.length * 4;
  await expect.poll(() => receiver.calls.length, { timeout: 15_000 }).toBe(owed);
  for (const [index, { task }] of sent.entries()) {
    const calls = receiver.calls.filter(({ path }) => path === `/${index}`);
    expect(calls).toHaveLength(4);
    expect(calls.every(({ body }) => body.includes(task.id))).toBe(true);
    expect(calls.at(-1)?.body).toContain('TASK_STATE_COMPLETED');
    expect(calls[0]?.body).toContain('TASK_STATE_SUBMITTED');
  }
});

for (const [onInterrupted, state, attempts] of [
  ['fail', 'FAILED', [1]],
  ['run-again', 'COMPLETED', [1, 2]],
] as const) {
  test(`turns of a killed replica are taken over within the lease, by policy (${onInterrupted})`, async () => {
    const leaseMs = 1_500;
    await using cluster = await Cluster.start({ database, leaseMs, onInterrupted });
    const [dying, heir] = [cluster.at(0), cluster.at(1)];
    const events = await sendStream(dying, 'wait x', { contextId: 'c' });
    const seen = [(await events.next()).value as Frame, (await events.next()).value as Frame];
    const id = /"id":"([^"]+)"/.exec(seen[0]?.data ?? '')?.[1] ?? '';
    const queued = await leave(dying, 'say next', { contextId: 'c' });
    const repeated = { contextId: 'c', messageId: 'm' };
    const kept = send(heir, 'say kept', repeated);
    await dying.kill();
    const started = performance.now();
    const rest = await Array.fromAsync(await subscribe(heir, id, seen.at(-1)?.id));
    // The lease, the time between two looks, and a margin for a busy machine.
    expect(performance.now() - started).toBeLessThan(leaseMs * 1.34 + 3_000);
    expect(rest[0]?.id).toBe((seen.at(-1)?.id ?? 0) + 1);
    expect(rest.at(-1)?.data).toContain(`TASK_STATE_${state}`);
    expect(stateOf((await kept).task)).toBe('COMPLETED');
    expect(stateOf(await getTask(heir, queued.task.id))).toBe('COMPLETED');
    const runs = cluster.began.filter(({ began }) => began === 'wait x');
    expect(runs.map(({ attempt }) => attempt)).toEqual(attempts);
  });
}

test('a replica that was frozen beyond its lease cannot write for the turn that others have taken', async () => {
  const settings = { database, leaseMs: 1_500, onInterrupted: 'run-again' } as const;
  await using cluster = await Cluster.start(settings);
  const [frozen, heir] = [cluster.at(0), cluster.at(1)];
  const { task } = await leave(frozen, 'wait x', { contextId: 'c' });
  await expect.poll(() => cluster.began).toHaveLength(1);
  const thaw = frozen.freeze();
  await expect
    .poll(async () => stateOf(await getTask(heir, task.id)), { timeout: 20_000 })
    .toBe('COMPLETED');
  const ended = await getTask(heir, task.id);
  const events = await Array.fromAsync(await subscribe(heir, task.id, 1));
  expect(events.at(-1)?.data).toContain('TASK_STATE_COMPLETED');
  // Its agent continues where it stood, and would say the same again.
  cluster.open('x');
  thaw();
  expect(textOf((await send(frozen, 'say y', { contextId: 'c' })).task)).toBe('2');
  expect(await getTask(frozen, task.id)).toEqual(ended);
  expect(await Array.fromAsync(await subscribe(frozen, task.id, 1))).toEqual(events);
  expect(cluster.began.map(({ began, attempt }) => [began, attempt])).toEqual([
    ['wait x', 1],
    ['wait x', 2],
    ['say y', 1],
  ]);
}, 60_000);
