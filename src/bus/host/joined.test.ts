import { expect, test } from 'vitest';
import { agent, inputRequired, reply, textOf } from '../../agents/index.ts';
import { message } from '../../protocol/index.ts';
import { openMemoryReplicas, type Store } from '../../store/index.ts';
import { describeBuses, eventually, nameOf, TestCaller } from '../testing.contract.ts';
import { hostOnBus } from './host.ts';

describeBuses('messages that meet on the bus', (buses) => {
  async function two(): Promise<[Store, Store]> {
    const [one, other] = openMemoryReplicas(2);
    if (one === undefined || other === undefined) throw new Error('expected two stores');
    return [one, other];
  }

  test('a follow-up whose task another one has ended is refused, and has no effect', async () => {
    const bus = await buses.open();
    const name = nameOf('asking');
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const heard: string[] = [];
    const asking = agent({ name }, async function* (turn) {
      heard.push(textOf(turn.message));
      if (turn.isContinuation) await opened;
      else yield inputRequired('?');
    });
    const host = await hostOnBus(asking, { bus, concurrency: 10 });
    buses.after(() => host.close());
    const caller = await TestCaller.start(bus);
    const first = await caller.send(name, 'ask');
    await eventually(() => caller.state(first)).toBe('TASK_STATE_INPUT_REQUIRED');
    const taskId = caller.task(first)?.id ?? '';
    const more = await caller.send(name, { message: message('more', { taskId }) });
    await eventually(() => heard).toEqual(['ask', 'more']);
    const late = await caller.send(name, { message: message('late', { taskId }) });
    await eventually(() => host.engine.runningTurns).toBe(1);
    open();
    await eventually(() => caller.state(more)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => caller.of(late).length).toBe(1);
    expect(caller.of(late)[0]?.error?.code).toBe('UNSUPPORTED_OPERATION');
    expect(heard).toEqual(['ask', 'more']);
  });

  test('a message runs once, whatever the correlation ids of its copies', async () => {
    const bus = await buses.open();
    const name = nameOf('once');
    let turns = 0;
    const counting = agent({ name }, async function* () {
      turns += 1;
      yield inputRequired('?');
    });
    const host = await hostOnBus(counting, { bus });
    buses.after(() => host.close());
    const caller = await TestCaller.start(bus);
    const request = { message: message('hi') };
    const [first, second] = [await caller.send(name, request), await caller.send(name, request)];
    await eventually(() => [first, second].map((id) => caller.task(id)?.id).length).toBe(2);
    await eventually(() => caller.of(second).length).toBe(1);
    expect(caller.task(second)?.id).toBe(caller.task(first)?.id);
    expect(turns).toBe(1);
  });

  for (const [how, isPlain] of [
    ['a plain message', true],
    ['a question', false],
  ] as const) {
    test(`a message in two pairs of hands is answered by both with ${how}`, async () => {
      const bus = await buses.open();
      const name = nameOf('busy');
      const { promise: opened, resolve: open } = Promise.withResolvers<void>();
      let turns = 0;
      const busy = agent({ name, replies: 'message' }, async function* () {
        turns += 1;
        await opened;
        yield isPlain ? reply('done') : inputRequired('?');
      });
      for (const store of await two()) {
        const host = await hostOnBus(busy, { bus, store, concurrency: 1, pollIntervalMs: 50 });
        buses.after(() => host.close());
      }
      const caller = await TestCaller.start(bus);
      const request = { message: message('hi', { contextId: 'c' }) };
      const id = await caller.send(name, request);
      await eventually(() => turns).toBe(1);
      await caller.send(name, request, {}, id);
      open();
      await eventually(() => caller.of(id).length).toBe(2);
      expect(caller.of(id).map(({ type }) => type)).toEqual(['result', 'result']);
      const [one, other] = caller.of(id).map(({ result }) => result);
      expect(other).toEqual(one);
      expect(turns).toBe(1);
    });
  }
});
