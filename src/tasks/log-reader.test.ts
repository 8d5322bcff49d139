import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent, inputRequired, reply } from '../agents/index.ts';
import { LegateError, message } from '../protocol/index.ts';
import { openMemory } from '../store/index.ts';
import { type Call, Engine, type EventStream } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };

async function numbersOf(stream: EventStream): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { sequence } of stream) numbers.push(sequence);
  return numbers;
}

test('a stream whose store failed continues where it was when it is pulled again', async () => {
  let failures = 1;
  const store = intercepted(openMemory(), {
    readEvents: async (go) => {
      failures -= 1;
      if (failures >= 0) throw new LegateError('STORE_FAILED', 'away');
      return go();
    },
  });
  const asking = agent({ name: 'asking' }, async function* () {
    yield inputRequired('Which?');
  });
  const engine = await Engine.start({ agent: asking, store });
  const outcome = await engine.send({ message: message('hi') }, call);
  if (!('task' in outcome)) throw new Error('expected a task');
  const { id } = outcome.task.value;
  const stream = await engine.subscribe({ id }, { ...call, lastEventId: 1 });
  await expect(stream.next()).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(await stream.next()).toMatchObject({ sequence: 2 });
  stream.close();
  await engine.stop();
});

test('closing a stream ends a pull that waits for the next event', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* () {
    await promise;
    yield inputRequired('Which?');
  });
  const engine = await Engine.start({ agent: slow, store: openMemory() });
  const outcome = await engine.send(
    { message: message('hi'), configuration: { returnImmediately: true } },
    call,
  );
  if (!('task' in outcome)) throw new Error('expected a task');
  const { id } = outcome.task.value;
  const state = async () => (await engine.getTask({ id }, call)).value.status.state;
  await expect.poll(state).toBe('TASK_STATE_WORKING');
  const stream = await engine.subscribe({ id }, call);
  expect((await stream.next())?.sequence).toBe(2);
  const next = stream.next();
  // By then the reader has caught up with the store, and waits for news.
  await new Promise((done) => void setImmediate(done));
  stream.close();
  expect(await next).toBeUndefined();
  resolve();
  await engine.stop();
});

test('a subscriber gets an error when a plain message replaced the task', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const talking = agent({ name: 'talking', replies: 'message' }, async function* () {
    await promise;
    yield reply('hello');
  });
  const engine = await Engine.start({ agent: talking, store: openMemory() });
  const answer = engine.send({ message: message('hi', { contextId: 'c' }) }, call);
  const listed = () => engine.listTasks({ contextId: 'c' }, call);
  await expect.poll(async () => (await listed()).tasks.length).toBe(1);
  const [task] = (await listed()).tasks;
  const stream = await engine.subscribe({ id: task?.id ?? '' }, call);
  expect((await stream.next())?.sequence).toBe(1);
  const next = stream.next();
  resolve();
  await expect(next).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  expect(await answer).toHaveProperty('message');
  await engine.stop();
});

test('a stream that answers a follow-up starts after the task it shows, though the task continued meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* (turn) {
    if (turn.isContinuation) return;
    await promise;
    yield inputRequired('Which?');
  });
  let isAsked: Promise<unknown> | undefined;
  const store = intercepted(openMemory(), {
    admit: async (go, { task }) => {
      // Between the look at the task and the admission of the follow-up, the first turn ends.
      if (task === undefined) resolve();
      if (task === undefined) await isAsked;
      return go();
    },
  });
  const engine = await Engine.start({ agent: slow, store });
  isAsked = engine.send({ message: message('hi', { contextId: 'c' }) }, call);
  const listed = () => engine.listTasks({ contextId: 'c' }, call);
  await expect.poll(async () => (await listed()).tasks.length).toBe(1);
  const taskId = (await listed()).tasks[0]?.id ?? '';
  const stream = await engine.stream({ message: message('this', { taskId }) }, call);
  // The task with its question; the follow-up, which its sender knows; working; completed.
  expect(await numbersOf(stream)).toEqual([3, 5, 6]);
  await engine.stop();
});
