import { expect, test, vi } from 'vitest';
import { agent, chunk, textOf } from '../../agents/index.ts';
import { Json, type JsonValue, LegateError, message } from '../../protocol/index.ts';
import { openMemoryReplicas, type Store } from '../../store/index.ts';
import { systemScheduler } from '../../tasks/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { headerNames } from '../exchange.ts';
import { describeBuses, eventually, nameOf, TestCaller } from '../testing.contract.ts';
import { Slots } from '../transport/slots.ts';
import { taskQueue, taskQueueName, topics } from '../transport/topics.ts';
import { AcceptedTasks } from './accepted-tasks.ts';
import { hostOnBus } from './host.ts';

describeBuses('tasks that take long', (buses) => {
  function two(): [Store, Store] {
    const [one, other] = openMemoryReplicas(2);
    if (one === undefined || other === undefined) throw new Error('expected two stores');
    return [one, other];
  }

  /** An agent whose turns wait for a gate, by their text. */
  function gated(name: string) {
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const gate = (said: string): PromiseWithResolvers<void> => {
      const found = gates.get(said) ?? Promise.withResolvers<void>();
      gates.set(said, found);
      return found;
    };
    const begun: string[] = [];
    const made = agent(
      { name, onInterrupted: 'run-again', serialise: 'task' },
      async function* (turn) {
        const said = textOf(turn.message);
        begun.push(said);
        yield chunk('a', 'begun ');
        await gate(said).promise;
        yield chunk('a', said, { append: true, last: true });
      },
    );
    return { agent: made, begun, open: (said: string) => gate(said).resolve() };
  }

  const kept = async (store: Store): Promise<number> =>
    (await store.records.list({ space: 'bus-accepted-tasks', limit: 10, now: Date.now() })).length;

  test('are acknowledged once the shared store has them, count against concurrency, and are answered once', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const { agent: slow, begun, open } = gated(name);
    const [store] = two();
    const host = await hostOnBus(slow, { bus, store, concurrency: 2, acknowledgeAfterMs: 20 });
    buses.after(() => host.close());
    const caller = await TestCaller.start(bus);
    const first = await caller.send(name, 'one');
    const second = await caller.send(name, 'two');
    await eventually(() => kept(store)).toBe(2);
    // Both places are taken, though the broker has nothing unacknowledged.
    const third = await caller.send(name, 'three');
    await eventually(async () => (await bus.inspect(taskQueueName(name)))?.messages).toBe(1);
    expect(begun.toSorted()).toEqual(['one', 'two']);
    open('one');
    open('three');
    await eventually(() => caller.state(first)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => caller.state(third)).toBe('TASK_STATE_COMPLETED');
    open('two');
    await eventually(() => caller.state(second)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => kept(store)).toBe(0);
    expect([first, second, third].map((id) => caller.of(id).length)).toEqual([1, 1, 1]);
    expect(begun).toHaveLength(3);
  });

  test('are acknowledged later where the store fails at first', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const { agent: slow, open } = gated(name);
    const [store] = two();
    let failures = 0;
    const write = store.records.write.bind(store.records);
    vi.spyOn(store.records, 'write').mockImplementation(async (writes, now) => {
      if (writes.some(({ space }) => space === 'bus-accepted-tasks') && (failures += 1) < 3) {
        throw new LegateError('STORE_FAILED', 'the store is away');
      }
      return write(writes, now);
    });
    const host = await hostOnBus(slow, { bus, store, acknowledgeAfterMs: 20 });
    buses.after(() => host.close());
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'one');
    await eventually(() => kept(store)).toBe(1);
    open('one');
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => kept(store)).toBe(0);
  });

  test('that fail again and again in the store are abandoned after as many attempts as on the broker', async () => {
    const bus = await buses.open();
    const [store] = two();
    const name = nameOf('slow');
    const queue = taskQueue(name);
    await bus.declare(queue);
    const sent = { id: 'm1', type: 'task', body: '{}', topic: `agent.task.${name}`, headers: {} };
    const value = Json.of<JsonValue>({ owner: 'gone', message: sent });
    await store.records.write(
      [{ space: 'bus-accepted-tasks', key: `${name}/1`, value }],
      Date.now(),
    );
    const attempts: string[] = [];
    const accepted = new AcceptedTasks({
      store,
      bus,
      agent: name,
      queue,
      slots: new Slots(1),
      scheduler: systemScheduler,
      logger: silentLogger,
      afterMs: 20,
      leaseMs: 300,
      handle: async ({ attempt, isLastAttempt }) => {
        attempts.push(`${attempt} ${isLastAttempt}`);
        return { kind: 'retry', reason: 'broken' };
      },
    });
    await accepted.start();
    buses.after(() => accepted.stop());
    await eventually(() => kept(store)).toBe(0);
    expect(attempts).toEqual(['1 false', '2 false', '3 false', '4 true']);
    expect(await bus.deadLetters(queue.name)).toMatchObject([
      { id: 'm1', reason: 'broken', attempts: 4 },
    ]);
  });

  test('that fail for good after the acknowledgement become dead letters, and can be replayed', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const { agent: slow, open } = gated(name);
    const [store] = two();
    const host = await hostOnBus(slow, { bus, store, acknowledgeAfterMs: 20 });
    buses.after(() => host.close());
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'one');
    await eventually(() => kept(store)).toBe(1);
    // The end of the turn can't be told to its caller: the result is larger than the bus takes.
    const publish = bus.publish.bind(bus);
    let refusals = 0;
    vi.spyOn(bus, 'publish').mockImplementation(async (topic, sent, options) => {
      if (sent.type === 'result' && (refusals += 1) === 1) {
        throw new LegateError('PAYLOAD_TOO_LARGE', 'too large for the bus');
      }
      if (sent.type === 'error') throw new LegateError('PEER_UNREACHABLE', 'nobody listens');
      return publish(topic, sent, options);
    });
    open('one');
    const queue = taskQueueName(name);
    await eventually(async () => (await bus.deadLetters(queue)).length).toBe(1);
    expect(await bus.deadLetters(queue)).toMatchObject([
      { reason: 'too large for the bus', attempts: 1, message: { correlationId: id } },
    ]);
    await eventually(() => kept(store)).toBe(0);
    expect(await bus.replay(queue)).toBe(1);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
  });

  test('of a process that died are taken over within the concurrency of the next one', async () => {
    const bus = await buses.open();
    const [store] = two();
    const keys = ['1', '2', '3', '4', '5'];
    for (const key of keys) {
      const sent = { id: key, type: 'task', body: '{}', topic: 'agent.task.slow', headers: {} };
      const value = Json.of<JsonValue>({ owner: 'gone', message: sent });
      const record = { space: 'bus-accepted-tasks', key: `slow/${key}`, value };
      await store.records.write([record], Date.now());
    }
    let running = 0;
    let most = 0;
    const handled: string[] = [];
    const accepted = new AcceptedTasks({
      store,
      bus,
      agent: 'slow',
      queue: taskQueue('slow'),
      slots: new Slots(2),
      scheduler: systemScheduler,
      logger: silentLogger,
      afterMs: 20,
      leaseMs: 300,
      handle: async ({ id }) => {
        most = Math.max(most, (running += 1));
        await new Promise((resolve) => void setTimeout(resolve, 5));
        running -= 1;
        handled.push(id);
        return { kind: 'done' };
      },
    });
    await accepted.start();
    buses.after(() => accepted.stop());
    await eventually(() => kept(store)).toBe(0);
    expect(handled.toSorted()).toEqual(keys);
    expect(most).toBe(2);
  });

  test('of a process that died are taken over, and their slot is free again, after the store failed', async () => {
    const bus = await buses.open();
    const [store] = two();
    const slots = new Slots(1);
    const handled: string[] = [];
    const accepted = new AcceptedTasks({
      store,
      bus,
      agent: 'slow',
      queue: taskQueue('slow'),
      slots,
      scheduler: systemScheduler,
      logger: silentLogger,
      afterMs: 20,
      leaseMs: 300,
      handle: async ({ id }) => {
        handled.push(id);
        return { kind: 'done' };
      },
    });
    await accepted.start();
    buses.after(() => accepted.stop());
    const sent = { id: '1', type: 'task', body: '{}', topic: 'agent.task.slow', headers: {} };
    const value = Json.of<JsonValue>({ owner: 'gone', message: sent });
    const record = { space: 'bus-accepted-tasks', key: 'slow/1', value };
    await store.records.write([record], Date.now());
    vi.spyOn(store.records, 'write').mockRejectedValueOnce(
      new LegateError('STORE_FAILED', 'the store is away'),
    );
    await eventually(() => kept(store)).toBe(0);
    expect(handled).toEqual(['1']);
    await eventually(() => slots.reserved).toBe(0);
  });

  test('return to the queue when their worker stops, and another worker finishes them', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const { agent: slow, open } = gated(name);
    const [one, other] = two();
    const first = await hostOnBus(slow, { bus, store: one, acknowledgeAfterMs: 20 });
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'long');
    await eventually(() => kept(one)).toBe(1);
    await first.close();
    expect(await kept(one)).toBe(0);
    await eventually(async () => (await bus.inspect(taskQueueName(name)))?.messages).toBe(1);
    open('long');
    const second = await hostOnBus(slow, { bus, store: other });
    buses.after(() => second.close());
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    expect(caller.of(id)).toHaveLength(1);
  });

  test('of a process that died never run beyond the concurrency, together with new deliveries', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const { agent: slow, begun, open } = gated(name);
    const [store] = two();
    const dead = ['dead 1', 'dead 2', 'dead 3'];
    for (const said of dead) {
      const body = JSON.stringify({ message: message(said) });
      const headers = { [headerNames.from]: 'caller' };
      const sent = { id: said, type: 'task', body, topic: topics.task(name), headers };
      const value = Json.of<JsonValue>({ owner: 'gone', message: sent });
      const record = { space: 'bus-accepted-tasks', key: `${name}/${said}`, value };
      await store.records.write([record], Date.now());
    }
    const host = await hostOnBus(slow, { bus, store, concurrency: 2, leaseMs: 300 });
    buses.after(() => host.close());
    await eventually(() => begun.length).toBe(2);
    const caller = await TestCaller.start(bus);
    const news = [await caller.send(name, 'new 1'), await caller.send(name, 'new 2')];
    // They wait at the broker, where other workers find them.
    await eventually(async () => (await bus.inspect(taskQueueName(name)))?.messages).toBe(2);
    expect(begun).toHaveLength(2);
    const all = [...dead, 'new 1', 'new 2'];
    // Each end makes room for one: whichever ends, there are never three that have begun and not ended.
    for (const ended of all.keys()) {
      const next = begun[ended];
      if (next === undefined) throw new Error(`only ${begun.join(', ')} have begun`);
      open(next);
      await eventually(() => begun.length).toBe(Math.min(ended + 3, all.length));
    }
    for (const id of news) {
      await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    }
    await eventually(() => kept(store)).toBe(0);
    expect(begun.toSorted()).toEqual(all);
  });

  test('of a process that died get the next slot that a delivery leaves, though others wait', async () => {
    const bus = await buses.open();
    const name = nameOf('slow');
    const { agent: slow, begun, open } = gated(name);
    const [store] = two();
    const host = await hostOnBus(slow, { bus, store, concurrency: 1, leaseMs: 300 });
    buses.after(() => host.close());
    const caller = await TestCaller.start(bus);
    await caller.send(name, 'new 1');
    await eventually(() => begun).toEqual(['new 1']);
    await caller.send(name, 'new 2');
    const body = JSON.stringify({ message: message('dead') });
    const headers = { [headerNames.from]: 'caller' };
    const sent = { id: 'dead', type: 'task', body, topic: topics.task(name), headers };
    const value = Json.of<JsonValue>({ owner: 'gone', message: sent });
    const list = vi.spyOn(store.records, 'list');
    const record = { space: 'bus-accepted-tasks', key: `${name}/dead`, value };
    await store.records.write([record], Date.now());
    // The worker has found the task, and waits for a slot.
    const looked = list.mock.calls.length;
    await eventually(() => list.mock.calls.length).toBeGreaterThan(looked + 4);
    expect(begun).toEqual(['new 1']);
    open('new 1');
    await eventually(() => begun).toEqual(['new 1', 'dead']);
    open('dead');
    await eventually(() => begun).toEqual(['new 1', 'dead', 'new 2']);
    open('new 2');
    await eventually(() => kept(store)).toBe(0);
  });
});
