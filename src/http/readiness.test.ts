import { expect, test } from 'vitest';
import { agent } from '../agents/index.ts';
import { artifact, LegateError, message } from '../protocol/index.ts';
import { Readiness } from '../service/index.ts';
import { openMemory, type Store } from '../store/index.ts';
import { type Scheduler, systemScheduler } from '../tasks/index.ts';
import { serve } from './index.ts';

const echo = agent({ name: 'echo' }, async function* () {
  yield artifact('x');
});

/** A store whose records do as they are told. */
class Moody {
  mood: 'well' | 'failing' | 'read-only' | 'silent' = 'well';
  asked = 0;
  readonly store: Store;

  constructor(store: Store) {
    const behave = async (isProbe: boolean, isWrite: boolean): Promise<void> => {
      if (isProbe) this.asked += 1;
      const isFailing = this.mood === 'failing' || (isWrite && this.mood === 'read-only');
      if (isFailing) throw new LegateError('STORE_FAILED', 'the disk is full');
      if (this.mood === 'silent') await new Promise(() => {});
    };
    const get: Store['records']['get'] = async (space, key, now) => {
      await behave(key === 'readiness', false);
      return store.records.get(space, key, now);
    };
    const write: Store['records']['write'] = async (writes, now) => {
      await behave(writes[0]?.key === 'readiness', true);
      return store.records.write(writes, now);
    };
    const records = instead(instead(store.records, 'get', get), 'write', write);
    this.store = instead(store, 'records', records);
  }
}

/** The same object with one member replaced. */
function instead<T extends object, K extends keyof T>(object: T, name: K, value: T[K]): T {
  return new Proxy(object, {
    get(target, asked) {
      if (asked === name) return value;
      const found: unknown = Reflect.get(target, asked, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

/** A clock by hand. */
function manual(): Scheduler & { advance(by: number): void } {
  let now = 0;
  const timers: { at: number; run: () => void }[] = [];
  return {
    ...systemScheduler,
    now: () => now,
    after(delay, run) {
      const timer = { at: now + delay, run };
      timers.push(timer);
      return {
        cancel: () => void timers.splice(timers.indexOf(timer), 1),
        restart() {
          timer.at = now + delay;
        },
      };
    },
    advance(by) {
      now += by;
      for (const timer of timers.filter(({ at }) => at <= now)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.run();
      }
    },
  };
}

test('a server whose store fails is not ready, lives on, and is ready again with it', async () => {
  const memory = openMemory();
  const moody = new Moody(memory);
  let now = 0;
  const readiness = new Readiness(moody.store, { ...systemScheduler, now: () => now });
  expect(await readiness.check()).toEqual({ isReady: true });
  moody.mood = 'failing';
  now += 1_000;
  expect(await readiness.check()).toEqual({
    isReady: false,
    reason: 'the store does not answer',
  });
  moody.mood = 'well';
  now += 1_000;
  expect(await readiness.check()).toEqual({ isReady: true });
  await memory.close();
});

test('a store that can be read and not written is not ready', async () => {
  const memory = openMemory();
  const moody = new Moody(memory);
  moody.mood = 'read-only';
  expect(await new Readiness(moody.store, systemScheduler).check()).toMatchObject({
    isReady: false,
  });
  await memory.close();
});

test('a requirement that is not met is the reason not to be ready', async () => {
  const memory = openMemory();
  let missing: string | undefined = 'the broker is away';
  const readiness = new Readiness(memory, systemScheduler, [() => undefined, () => missing]);
  expect(await readiness.check()).toEqual({ isReady: false, reason: 'the broker is away' });
  missing = undefined;
  expect(await readiness.check()).toEqual({ isReady: true });
  await memory.close();
});

test('messages to an agent that is unavailable are refused at once, and tasks stay readable', async () => {
  let reason: string | undefined;
  const moodyEcho = agent({ name: 'echo', unavailable: () => reason }, async function* () {
    yield artifact('x');
  });
  await using server = await serve(moodyEcho);
  const send = () =>
    fetch(`${server.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: message('x') }),
    });
  const { task } = (await (await send()).json()) as { readonly task: { readonly id: string } };
  reason = 'the broker is away';
  const refused = await send();
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain('the broker is away');
  const read = await fetch(`${server.url}/tasks/${task.id}`, { headers: { 'a2a-version': '1.0' } });
  expect(read.status).toBe(200);
});

test('/ready reports the store, /health does not', async () => {
  const memory = openMemory();
  const moody = new Moody(memory);
  await using server = await serve(echo, { store: moody.store });
  const url = `http://127.0.0.1:${server.port}`;
  moody.mood = 'failing';
  const ready = await fetch(`${url}/ready`);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'unavailable', reason: 'the store does not answer' },
  ]);
  expect(ready.headers.get('cache-control')).toBe('no-store');
  expect((await fetch(`${url}/health`)).status).toBe(200);
  moody.mood = 'well';
});

test('/ready shows a skewed wall clock and stays ready', async () => {
  const memory = openMemory();
  const clock = { now: () => memory.clock.now(), skewMs: () => 61_000 };
  await using server = await serve(echo, { store: instead(memory, 'clock', clock) });
  const ready = await fetch(`http://127.0.0.1:${server.port}/ready`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ok', clockSkewMs: 61_000 }]);
});

test('a store that does not answer is not waited for', async () => {
  const memory = openMemory();
  const moody = new Moody(memory);
  moody.mood = 'silent';
  const scheduler = manual();
  const readiness = new Readiness(moody.store, scheduler);
  const asked = readiness.check();
  scheduler.advance(2_000);
  expect(await asked).toMatchObject({ isReady: false });
  await memory.close();
});

test('frequent readiness probes query the store once a second at most', async () => {
  const memory = openMemory();
  const moody = new Moody(memory);
  const scheduler = manual();
  const readiness = new Readiness(moody.store, scheduler);
  await Promise.all(Array.from({ length: 100 }, () => readiness.check()));
  expect(moody.asked).toBe(1);
  scheduler.advance(1_000);
  await readiness.check();
  expect(moody.asked).toBe(2);
  await memory.close();
});

test('a server that means to stop says so before its port closes, and serves on meanwhile', async () => {
  const server = await serve(echo, { noticeMs: 1_500 });
  const url = `http://127.0.0.1:${server.port}`;
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  const closed = server.close();
  expect((await fetch(`${url}/ready`)).status).toBe(503);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/tasks`, { headers: { 'a2a-version': '1.0' } })).status).toBe(200);
  await closed;
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});
