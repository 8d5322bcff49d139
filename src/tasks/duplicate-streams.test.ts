import { afterEach, expect, test } from 'vitest';
import { type Agent, agent, inputRequired, reply, textOf, working } from '../agents/index.ts';
import { artifact, message } from '../protocol/index.ts';
import { openStore, type Store } from '../store/index.ts';
import { describeStores, type StorePlace } from '../../test/support/stores.ts';
import { anonymous, type Call, Engine, type EventStream } from './index.ts';

const call: Call = { caller: anonymous, version: '1.0' };

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function start(place: StorePlace, made: Agent): Promise<Engine> {
  const store = await place.open();
  const engine = await Engine.start({ agent: made, store, duplicateStreams: 'attach' });
  cleanups.push(
    () => engine.stop(),
    () => place.remove(),
  );
  return engine;
}

/** What a stream brings, in short: the kind or state of each event, with its number. */
async function told(stream: EventStream): Promise<string[]> {
  const lines: string[] = [];
  for await (const { sequence, body } of stream) {
    const event = body.value;
    const what =
      'task' in event
        ? `task ${event.task.status.state.slice('TASK_STATE_'.length)}`
        : 'statusUpdate' in event
          ? event.statusUpdate.status.state.slice('TASK_STATE_'.length)
          : 'message' in event
            ? `message ${textOf(event.message)}`
            : 'artifact';
    lines.push(`${sequence} ${what}`);
  }
  return lines;
}

describeStores('duplicates of messages that stream', (openPlace) => {
  test('a duplicate follows the running turn: the task as it is, then every further event', async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const slow = agent({ name: 'slow' }, async function* () {
      runs += 1;
      yield working();
      await gate.promise;
      yield artifact('x');
    });
    const engine = await start(await openPlace(), slow);
    const request = { message: message('x', { contextId: 'c' }) };
    const first = told(await engine.stream(request, call));
    await expect
      .poll(async () => (await engine.listTasks({}, call)).tasks[0]?.status.state)
      .toBe('TASK_STATE_WORKING');
    const again = told(await engine.stream(request, call));
    const resumed = told(await engine.stream(request, { ...call, lastEventId: 1 }));
    gate.resolve();
    expect(await first).toEqual(['1 task SUBMITTED', '2 WORKING', '3 artifact', '4 COMPLETED']);
    expect(await again).toEqual(['2 task WORKING', '3 artifact', '4 COMPLETED']);
    expect(await resumed).toEqual(['2 WORKING', '3 artifact', '4 COMPLETED']);
    expect(runs).toBe(1);
    expect(await told(await engine.stream(request, call))).toEqual(['0 task COMPLETED']);
  });

  test('a duplicate of a later message follows its own turn, not the one it waits for', async () => {
    const gate = Promise.withResolvers<void>();
    const asking = agent({ name: 'asking' }, async function* (turn) {
      if (textOf(turn.message) === 'first') {
        yield inputRequired('?');
        return;
      }
      await gate.promise;
      yield textOf(turn.message) === 'second' ? inputRequired('??') : artifact('x');
    });
    const engine = await start(await openPlace(), asking);
    const begun = await engine.send({ message: message('first', { contextId: 'c' }) }, call);
    const taskId = 'task' in begun ? begun.task.value.id : '';
    const second = told(await engine.stream({ message: message('second', { taskId }) }, call));
    const request = { message: message('third', { taskId }) };
    const third = told(await engine.stream(request, call));
    const again = told(await engine.stream(request, call));
    gate.resolve();
    expect((await second).at(-1)).toContain('INPUT_REQUIRED');
    expect((await third).at(-1)).toContain('COMPLETED');
    expect((await again).at(-1)).toContain('COMPLETED');
  });

  test('a duplicate that is answered by a plain message gets that message', async () => {
    const gate = Promise.withResolvers<void>();
    const polite = agent({ name: 'polite', replies: 'message' }, async function* () {
      await gate.promise;
      yield reply('hello');
    });
    const engine = await start(await openPlace(), polite);
    const request = { message: message('x', { contextId: 'c' }) };
    const first = engine.stream(request, call).then(told);
    await expect.poll(() => engine.runningTurns).toBe(1);
    const again = engine.stream(request, call).then(told);
    const gone = new AbortController();
    const left = engine.stream(request, { ...call, signal: gone.signal });
    gone.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    gate.resolve();
    expect(await first).toEqual(['0 message hello']);
    expect(await again).toEqual(['0 message hello']);
  });
});

test('a duplicate of a message whose turn asks a question in that very moment gets the question', async () => {
  const store = await openStore({ type: 'memory' });
  let isHeld = false;
  const loading = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow = new Proxy(store, {
    get(target, name: keyof Store) {
      const member = target[name];
      if (name !== 'load' || !isHeld) {
        return typeof member === 'function' ? member.bind(target) : member;
      }
      return async (...values: Parameters<Store['load']>) => {
        loading.resolve();
        await released.promise;
        return target.load(...values);
      };
    },
  });
  const gate = Promise.withResolvers<void>();
  const asking = agent({ name: 'asking' }, async function* () {
    await gate.promise;
    yield inputRequired('?');
  });
  const engine = await Engine.start({ agent: asking, store: slow, duplicateStreams: 'attach' });
  cleanups.push(
    () => engine.stop(),
    () => store.close(),
  );
  const request = { message: message('x', { contextId: 'c' }) };
  const first = told(await engine.stream(request, call));
  isHeld = true;
  const again = engine.stream(request, call).then(told);
  await loading.promise;
  gate.resolve();
  expect((await first).at(-1)).toContain('INPUT_REQUIRED');
  isHeld = false;
  released.resolve();
  expect(await again).toEqual(['0 task INPUT_REQUIRED']);
});
