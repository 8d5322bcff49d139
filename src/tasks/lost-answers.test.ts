import { afterEach, expect, test } from 'vitest';
import { agent, type Agent, textOf, working } from '../agents/index.ts';
import { artifact, LegateError, message, type Task } from '../protocol/index.ts';
import { type Append, openMemoryReplicas, type Reporting, type Store } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { type Call, Engine, type EngineOptions, type Scheduler, systemScheduler } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };
const lost = (): LegateError => new LegateError('STORE_FAILED', 'the answer was lost');

const engines: Engine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

/** The same store, with a way to lose answers: of an admission, or of an append. */
function unreliable(
  store: Store,
  loses: { admit?: () => boolean; append?: (append: Append) => 'after' | 'before' | undefined },
): Store {
  const wrapped: Partial<Store> = {
    async admit(admission) {
      const outcome = await store.admit(admission);
      if (loses.admit?.() === true) throw lost();
      return outcome;
    },
    async append(append) {
      const loss = loses.append?.(append);
      if (loss === 'before') throw lost();
      const outcome = await store.append(append);
      if (loss === 'after') throw lost();
      return outcome;
    },
  };
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const member = wrapped[name] ?? target[name];
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

async function start(
  agent: Agent,
  store: Store,
  options: Partial<EngineOptions> = {},
): Promise<Engine> {
  const engine = await Engine.start({ agent, store, leaseMs: 60, pollIntervalMs: 10, ...options });
  engines.push(engine);
  return engine;
}

/** The half minute of tries passes in a moment. */
const hasty: Scheduler = {
  ...systemScheduler,
  after: (delay, callback) => systemScheduler.after(delay / 1_000, callback),
};

function openShared(): Store {
  const [store] = openMemoryReplicas(1);
  if (store === undefined) throw new Error('a store was expected');
  return store;
}

function once(): () => boolean {
  let isDue = true;
  return () => {
    const was = isDue;
    isDue = false;
    return was;
  };
}

async function ended(engine: Engine, id: string): Promise<Task> {
  await expect
    .poll(async () => (await engine.getTask({ id }, call)).value.status.state)
    .toMatch(/COMPLETED|FAILED/);
  return (await engine.getTask({ id }, call)).value;
}

test('a turn whose claim was lost with the answer to the end before it runs all the same, once', async () => {
  const ran: string[] = [];
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* (turn) {
    ran.push(`${textOf(turn.message)}.${turn.attempt}`);
    await opened;
    yield artifact(textOf(turn.message));
  });
  const isDue = once();
  const store = unreliable(openShared(), {
    append: (append) => (append.endsTurn === true && isDue() ? 'after' : undefined),
  });
  const engine = await start(slow, store);
  const say = (text: string): Promise<{ task?: { value: Task } }> =>
    engine.send({ message: message(text, { contextId: 'c' }) }, call) as Promise<{
      task?: { value: Task };
    }>;
  const first = say('1');
  await expect.poll(() => ran).toEqual(['1.1']);
  const rest = [say('2'), say('3')];
  open();
  const states = (await Promise.all([first, ...rest])).map((each) => each.task?.value.status.state);
  expect(states).toEqual(Array.from({ length: 3 }, () => 'TASK_STATE_COMPLETED'));
  expect(ran).toEqual(['1.1', '2.1', '3.1']);
});

test('a message whose admission was lost with its answer is worked on once, and found by its repeat', async () => {
  let runs = 0;
  const counting = agent({ name: 'counting' }, async function* () {
    runs += 1;
    yield artifact('x');
  });
  const isDue = once();
  const engine = await start(counting, unreliable(openShared(), { admit: isDue }));
  const said = message('x', { contextId: 'c' });
  await expect(engine.send({ message: said }, call)).rejects.toMatchObject({
    code: 'STORE_FAILED',
  });
  await expect
    .poll(() => engine.send({ message: said }, call).catch(() => undefined))
    .toHaveProperty('task.value.status.state', 'TASK_STATE_COMPLETED');
  expect(runs).toBe(1);
});

test('turns that are admitted all the while are run by their admission alone', async () => {
  const runs = new Map<string, number>();
  const counting = agent({ name: 'counting' }, async function* (turn) {
    const name = textOf(turn.message);
    runs.set(name, (runs.get(name) ?? 0) + 1);
    yield working();
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
  });
  // Looks for lost claims at every moment, between slow answers.
  const shared = openShared();
  const slow = new Proxy(shared, {
    get(target, name: keyof Store) {
      const member = target[name];
      if (typeof member !== 'function') return member;
      if (!['admit', 'append', 'takeOver', 'load'].includes(name)) return member.bind(target);
      return async (...values: never[]) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
        const outcome = await (member as (...values: never[]) => unknown).apply(target, values);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
        return outcome;
      };
    },
  });
  const engine = await start(counting, slow, { leaseMs: 3 });
  const names = Array.from({ length: 120 }, (_, index) => String(index));
  const sends = names.map((name) =>
    engine.send({ message: message(name, { contextId: `c${Number(name) % 40}` }) }, call),
  );
  const answers = await Promise.all(sends);
  for (const answer of answers) {
    expect(answer).toHaveProperty('task.value.status.state', 'TASK_STATE_COMPLETED');
  }
  expect([...runs.values()]).toEqual(names.map(() => 1));
});

for (const [onInterrupted, state, attempts] of [
  ['fail', 'TASK_STATE_FAILED', [1]],
  ['run-again', 'TASK_STATE_COMPLETED', [1, 2]],
] as const) {
  test(`a turn that was abandoned while the store was away is resolved when it is back (${onInterrupted})`, async () => {
    const ran: number[] = [];
    let isAway = false;
    const talking = agent({ name: 'talking', onInterrupted }, async function* (turn) {
      ran.push(turn.attempt);
      isAway = turn.attempt === 1;
      yield artifact('x');
    });
    const store = unreliable(openShared(), { append: () => (isAway ? 'before' : undefined) });
    const engine = await start(talking, store, { scheduler: hasty, leaseMs: 30_000 });
    const configuration = { returnImmediately: true };
    const sent = await engine.send({ message: message('x'), configuration }, call);
    const id = 'task' in sent ? sent.task.value.id : '';
    await expect.poll(() => engine.runningTurns).toBe(0);
    isAway = false;
    expect((await ended(engine, id)).status.state).toBe(state);
    expect(ran).toEqual(attempts);
  });
}

for (const pace of ['at once', 'after its first event']) {
  test(`a caller waiting for a turn that ends ${pace} gets an error when the end cannot be stored`, async () => {
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const talking = agent({ name: 'talking' }, async function* (turn) {
      yield artifact('x');
      if (pace === 'at once') return;
      turn.signal.addEventListener('abort', () => stop());
      await stopped;
    });
    const store = unreliable(openShared(), { append: () => 'before' });
    const engine = await start(talking, store, { scheduler: hasty, leaseMs: 3_600_000 });
    await expect(engine.send({ message: message('x') }, call)).rejects.toMatchObject({
      code: 'STORE_FAILED',
    });
  });
}

test('an outage is logged once, and no turn starts until it is over', async () => {
  const shared = openShared();
  let isAway = false;
  const ran: number[] = [];
  const talking = agent({ name: 'talking', onInterrupted: 'run-again' }, async function* (turn) {
    ran.push(turn.attempt);
    isAway = turn.attempt === 1;
    yield artifact('x');
  });
  let heartbeats = 0;
  const outage = { reason: 'away', error: lost(), failedWrites: 1, since: 1 };
  const reliable = unreliable(shared, { append: () => (isAway ? 'before' : undefined) });
  const store = new Proxy(reliable, {
    get(target, name: keyof Store) {
      if (name === 'heartbeat') heartbeats += 1;
      if (name !== 'health') return target[name];
      const report = (): Reporting => ({ isActive: false, end: () => {} });
      return { report, outage: isAway ? outage : undefined };
    },
  });
  const lines: string[] = [];
  const note = (_fields: object, event?: string): void => void lines.push(event ?? '');
  const logger = { ...silentLogger, warn: note, error: note, child: () => logger };
  const engine = await start(talking, store, { scheduler: hasty, leaseMs: 30_000, logger });
  await expect(engine.send({ message: message('x') }, call)).rejects.toMatchObject({
    code: 'STORE_FAILED',
  });
  const before = heartbeats;
  await expect.poll(() => heartbeats).toBeGreaterThan(before + 5);
  expect(lines).toEqual([]);
  expect(ran).toEqual([1]);
  isAway = false;
  await expect.poll(() => ran).toEqual([1, 2]);
  await engine.idle();
  expect(lines).toEqual(['tasks.turn.taken_over']);
});

test('a caller of a queued turn gets an error when the store stays unavailable, and not before', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow' }, async function* (turn) {
    await opened;
    yield artifact(textOf(turn.message));
  });
  const shared = openShared();
  let since: number | undefined;
  const store = new Proxy(shared, {
    get(target, name: keyof Store) {
      const member = target[name];
      if (name !== 'health') return typeof member === 'function' ? member.bind(target) : member;
      const outage = { reason: 'away', error: lost(), failedWrites: 1, since };
      return {
        report: () => ({ isActive: false, end: () => {} }),
        outage: since === undefined ? undefined : outage,
      };
    },
  });
  const looks: (() => void)[] = [];
  const scheduler: Scheduler = {
    ...systemScheduler,
    after(delay, callback) {
      if (delay !== 15_000) return systemScheduler.after(delay, callback);
      looks.push(callback);
      return { cancel: () => {}, restart: () => {} };
    },
  };
  const engine = await start(slow, store, { scheduler });
  const say = (text: string): Promise<unknown> =>
    engine.send({ message: message(text, { contextId: 'c' }) }, call).catch((error) => error);
  const first = say('1');
  await expect.poll(() => engine.runningTurns).toBe(1);
  const second = say('2');
  await expect.poll(() => looks.length).toBe(1);
  const look = (outage: number | undefined): void => {
    since = outage;
    for (const each of looks) each();
  };
  for (const outage of [1, undefined, 2, 3]) look(outage);
  const third = say('3');
  await expect.poll(() => looks.length).toBe(2);
  // For the third message it is the first look.
  look(3);
  await expect(second).resolves.toMatchObject({ code: 'STORE_FAILED' });
  since = undefined;
  open();
  await expect(first).resolves.toHaveProperty('task');
  await expect(third).resolves.toHaveProperty('task');
});

test('reads of a conversation by its agent wait while the store is unavailable', async () => {
  const shared = openShared();
  let tries = 0;
  const store = new Proxy(shared, {
    get(target, name: keyof Store) {
      const member = target[name];
      if (typeof member !== 'function') return member;
      if (name !== 'loadContext' && name !== 'readContextLog') return member.bind(target);
      return async (...values: never[]) => {
        tries += 1;
        if (tries % 3 !== 0) throw lost();
        return (member as (...values: never[]) => unknown).apply(target, values);
      };
    },
  });
  const reading = agent({ name: 'reading' }, async function* (turn) {
    yield artifact(`${typeof (await turn.state.load())} ${(await turn.state.log()).length}`);
  });
  const engine = await start(reading, store);
  const answer = await engine.send({ message: message('x') }, call);
  expect(answer).toHaveProperty('task.value.artifacts.0.parts', [{ text: 'undefined 0' }]);
});

test('a cancel of which no notice came reaches the turn on the other replica', async () => {
  const waiting = agent({ name: 'waiting' }, async function* (turn) {
    yield working();
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
  });
  const [first, second] = openMemoryReplicas(2).map(
    (store) =>
      new Proxy(store, {
        get(target, name: keyof Store) {
          const member = target[name];
          if (name === 'watch') return () => () => {};
          return typeof member === 'function' ? member.bind(target) : member;
        },
      }),
  );
  if (first === undefined || second === undefined) throw new Error('two stores were expected');
  const here = await start(waiting, first, { leaseMs: 15_000 });
  const there = await start(waiting, second, { leaseMs: 15_000 });
  const configuration = { returnImmediately: true };
  const sent = await here.send({ message: message('x'), configuration }, call);
  const id = 'task' in sent ? sent.task.value.id : '';
  const canceled = await there.cancelTask({ id }, call);
  expect(canceled.value.status.state).toBe('TASK_STATE_CANCELED');
});

test('after the store was away for longer than the lease, live replicas keep their turns', async () => {
  const [first, second] = openMemoryReplicas(2);
  if (first === undefined || second === undefined) throw new Error('two stores were expected');
  const away = new Set<Store>();
  let looks = 0;
  const absent = (store: Store): Store =>
    new Proxy(store, {
      get(target, name: keyof Store) {
        const member = target[name];
        if (typeof member !== 'function') return member;
        if (name === 'watch') return member.bind(target);
        return async (...values: never[]) => {
          if (away.has(store)) throw lost();
          if (name === 'takeOver') looks += 1;
          return (member as (...values: never[]) => unknown).apply(target, values);
        };
      },
    });
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const attempts: number[] = [];
  const slow = agent({ name: 'slow', onInterrupted: 'run-again' }, async function* (turn) {
    attempts.push(turn.attempt);
    await opened;
    yield artifact('x');
  });
  let now = 1_000_000;
  const timers = new Set<{ delay: number; callback: () => void }>();
  const scheduler = {
    ...systemScheduler,
    now: () => now,
    after(delay: number, callback: () => void) {
      const timer = { delay, callback };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer), restart: () => {} };
    },
  };
  /** Lets everything that repeats have its turn: the one that would take over first. */
  const tick = async (): Promise<void> => {
    const due = [...timers].filter(({ delay }) => delay <= 10_000);
    for (const timer of due) {
      timers.delete(timer);
      timer.callback();
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  const options = { scheduler, leaseMs: 15_000, taskTimeoutMs: 0, retentionMs: 0 };
  const heir = await start(slow, absent(first), options);
  const runner = await start(slow, absent(second), options);
  const sent = runner.send({ message: message('x') }, call);
  await expect.poll(() => attempts).toEqual([1]);
  away.add(first).add(second);
  now += 20_000;
  await tick();
  // The one that would take over is back before the other has shown that it lives.
  away.delete(first);
  const before = looks;
  await tick();
  await tick();
  away.delete(second);
  await tick();
  expect(looks).toBeGreaterThan(before);
  open();
  expect(await sent).toHaveProperty('task.value.status.state', 'TASK_STATE_COMPLETED');
  expect(attempts).toEqual([1]);
  expect(heir.runningTurns).toBe(0);
});
