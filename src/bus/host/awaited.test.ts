import { expect, test } from 'vitest';
import { type Agent, agent, failed, inputRequired, reply, textOf } from '../../agents/index.ts';
import { artifact, message } from '../../protocol/index.ts';
import { openMemory } from '../../store/index.ts';
import { describeBuses, eventually, nameOf, TestCaller } from '../testing.contract.ts';
import { type Bus, done } from '../transport/bus.ts';
import { statusQueue } from '../transport/topics.ts';
import { type HostOptions, hostOnBus } from './host.ts';

const quietly = { updates: 'none' } as const;

describeBuses('a caller that wants to hear nothing on the way', (buses) => {
  async function host(bus: Bus, made: Agent, options: Partial<HostOptions> = {}) {
    const hosting = await hostOnBus(made, { bus, cancelGraceMs: 50, ...options });
    buses.after(() => hosting.close());
    return hosting;
  }

  /** Works until it is released, or stopped. */
  function sleeper(name: string, more: Partial<Agent> = {}) {
    const gate = Promise.withResolvers<void>();
    const seen = { begun: 0, aborted: 0 };
    const made = agent({ name, ...more }, async function* (turn) {
      seen.begun += 1;
      const stopped = new Promise<void>((_, reject) => {
        turn.signal.addEventListener('abort', () => {
          seen.aborted += 1;
          reject(turn.signal.reason as Error);
        });
      });
      await Promise.race([gate.promise, stopped]);
      yield artifact(textOf(turn.message));
    });
    return { made, seen, release: gate.resolve };
  }

  test('hears the end, whatever it is', async () => {
    const bus = await buses.open();
    const name = nameOf('ender');
    const made = agent({ name }, async function* (turn) {
      const words = textOf(turn.message);
      if (words === 'fail') yield failed('broke');
      else if (words === 'throw') throw new Error('secret detail');
      else yield artifact(words);
    });
    await host(bus, made);
    const caller = await TestCaller.start(bus);
    const ids: string[] = [];
    for (const words of ['fail', 'throw', 'work'])
      ids.push(await caller.send(name, words, quietly));
    await eventually(() => ids.map((id) => caller.state(id))).toEqual([
      'TASK_STATE_FAILED',
      'TASK_STATE_FAILED',
      'TASK_STATE_COMPLETED',
    ]);
    expect(caller.updates).toEqual([]);
    const unknown = await caller.send(name, { message: message('x', { taskId: 'no' }) }, quietly);
    await eventually(() => caller.of(unknown)[0]?.error?.code).toBe('TASK_NOT_FOUND');
  });

  test('hears a plain message', async () => {
    const bus = await buses.open();
    const name = nameOf('replier');
    const made = agent({ name, replies: 'message' }, async function* () {
      yield reply('hello');
    });
    await host(bus, made);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x', quietly);
    await eventually(() => caller.of(id)[0]?.result).toMatchObject({
      message: { parts: [{ text: 'hello' }] },
    });
  });

  test('is asked, and its answer continues with the same task', async () => {
    const bus = await buses.open();
    const name = nameOf('asker');
    const asker = agent({ name }, async function* (turn) {
      if ((await turn.history()).length === 0) yield inputRequired('When?');
      else yield artifact(textOf(turn.message));
    });
    await host(bus, asker);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'meet', quietly);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    const { id: taskId = '', contextId = '' } = caller.task(id) ?? {};
    await caller.send(name, { message: message('noon', { taskId, contextId }) }, quietly, id);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    expect(caller.task(id)).toMatchObject({
      id: taskId,
      artifacts: [{ parts: [{ text: 'noon' }] }],
    });
  });

  test('cancels a turn that runs, and hears so', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    const { made, seen } = sleeper(name);
    await host(bus, made);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x', quietly);
    await eventually(() => seen.begun).toBe(1);
    await caller.cancel(name, id);
    await eventually(() => caller.state(id)).toBe('TASK_STATE_CANCELED');
    expect(seen.aborted).toBe(1);
  });

  test('may cancel at the same moment as it asks', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    await host(bus, sleeper(name).made);
    const caller = await TestCaller.start(bus);
    const ids = Array.from({ length: 10 }, () => crypto.randomUUID());
    for (const id of ids) {
      await Promise.all([caller.send(name, 'x', quietly, id), caller.cancel(name, id)]);
    }
    await eventually(() => new Set(ids.map((id) => caller.state(id)))).toEqual(
      new Set(['TASK_STATE_CANCELED']),
    );
  });

  test('whose message the broker repeats has one turn, and is answered each time', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    const { made, seen, release } = sleeper(name);
    await host(bus, made);
    const caller = await TestCaller.start(bus);
    const request = { message: message('x') };
    await caller.send(name, request, quietly, 'same');
    await eventually(() => seen.begun).toBe(1);
    await caller.send(name, request, quietly, 'same');
    // One more, to know that the repetition before it was taken from the queue.
    const other = await caller.send(name, 'other', quietly);
    await eventually(() => seen.begun).toBe(2);
    release();
    await eventually(() => caller.of('same').length).toBe(2);
    await eventually(() => caller.state(other)).toBe('TASK_STATE_COMPLETED');
    expect(seen.begun).toBe(2);
  });

  test('is answered by another process when the first one stops', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    const store = openMemory();
    const first = sleeper(name, { onInterrupted: 'run-again' });
    const hosting = await host(bus, first.made, { store });
    const caller = await TestCaller.start(bus);
    // The second waits for the first, in the same conversation.
    const contextId = crypto.randomUUID();
    const ids: string[] = [];
    for (const words of ['one', 'two']) {
      ids.push(await caller.send(name, { message: message(words, { contextId }) }, quietly));
    }
    await eventually(() => first.seen.begun).toBe(1);
    await hosting.close();
    expect(caller.answers).toEqual([]);
    const second = sleeper(name, { onInterrupted: 'run-again' });
    second.release();
    await host(bus, second.made, { store });
    await eventually(() => ids.map((id) => caller.state(id))).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_COMPLETED',
    ]);
  });

  test('publishes its states to status subscribers like any other task', async () => {
    const bus = await buses.open();
    const name = nameOf('sleeper');
    const { made, release } = sleeper(name);
    await host(bus, made);
    const states: unknown[] = [];
    await bus.consume(statusQueue(nameOf('onlooker')), async ({ body }) => {
      states.push((JSON.parse(body) as { statusUpdate: { status: unknown } }).statusUpdate.status);
      return done;
    });
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'x', quietly);
    await eventually(() => states).toEqual([{ state: 'TASK_STATE_WORKING' }]);
    release();
    await eventually(() => caller.state(id)).toBe('TASK_STATE_COMPLETED');
    await eventually(() => states.at(-1)).toEqual({ state: 'TASK_STATE_COMPLETED' });
  });
});
