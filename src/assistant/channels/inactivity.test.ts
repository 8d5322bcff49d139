import { expect, test } from 'vitest';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { intercepted } from '../../../test/support/intercepted-store.ts';
import { Json } from '../../protocol/index.ts';
import { openMemory, openStore } from '../../store/index.ts';
import { ManualScheduler } from './testing/manual-scheduler.ts';
import { served, type Served, stateOf, wordsOf } from './testing/served.ts';

const minute = 60_000;

async function names(house: Served, id: string): Promise<readonly unknown[]> {
  return (await house.tracker(id)).events.map(({ event }) => event);
}

async function restsOf(house: Served, id: string): Promise<number> {
  return (await names(house, id)).filter((name) => name === 'conversation_inactive').length;
}

/** The same, while time passes: a look that took long is followed by another. */
async function restsIn(scheduler: ManualScheduler, house: Served, id: string): Promise<number> {
  scheduler.advance(minute / 6);
  return restsOf(house, id);
}

/** Lets time pass, in small steps: what is due in between comes about in between. */
async function pass(scheduler: ManualScheduler, minutes: number): Promise<void> {
  for (let left = minutes * 6; left > 0; left -= 1) {
    scheduler.advance(minute / 6);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('6.5: a conversation in which nobody speaks for session_expiration_time becomes inactive, once', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, store: { type: 'memory' } });
  await house.say('water the Monstera', { contextId: 'c' });
  await pass(scheduler, 59);
  expect(await restsOf(house, 'c')).toBe(0);
  await pass(scheduler, 2);
  await expect.poll(() => restsIn(scheduler, house, 'c')).toBe(1);
  await pass(scheduler, 180);
  expect(await restsOf(house, 'c')).toBe(1);
});

test('a conversation that continues rests only after its last message', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, store: { type: 'memory' } });
  await house.say('water the Monstera', { contextId: 'c' });
  await pass(scheduler, 50);
  await house.say('what was that?', { contextId: 'c' });
  await pass(scheduler, 55);
  expect(await restsOf(house, 'c')).toBe(0);
  await pass(scheduler, 10);
  await expect.poll(() => restsIn(scheduler, house, 'c')).toBe(1);
});

test('inactivity leaves the question and its task; the next message continues under another session id', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, store: { type: 'memory' } });
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const before = await house.tracker('c');
  await pass(scheduler, 61);
  await expect.poll(() => restsIn(scheduler, house, 'c')).toBe(1);
  const { body } = await house.rpc('tasks/get', { id: asked.id });
  expect(body).toMatchObject({ result: { status: { state: 'input-required' } } });
  const task = await house.say('5', { contextId: 'c', taskId: asked.id });
  expect(task.id).toBe(asked.id);
  expect(wordsOf(task)[0]).toBe('Monstera got 5 litres.');
  const after = await house.tracker('c');
  expect(after['current_session_id']).not.toBe(before['current_session_id']);
  expect(await names(house, 'c')).toContain('conversation_inactive');
  expect((await names(house, 'c')).filter((name) => name === 'session_started')).toHaveLength(1);
  // A conversation that was resumed can become inactive again.
  await pass(scheduler, 61);
  await expect.poll(() => restsIn(scheduler, house, 'c')).toBe(2);
});

test('where sessions start again after expiry they do so although the rest was noted', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({
    scheduler,
    store: { type: 'memory' },
    files: {
      'endpoints.yml': '{}',
      'domain/session.yml': 'session_config: {session_expiration_time: 10}\n',
    },
  });
  const say = (message: string) =>
    house.api('POST', '/webhooks/rest/webhook', { sender: 'ada', message });
  await say('water the Monstera');
  await pass(scheduler, 11);
  await expect.poll(() => restsIn(scheduler, house, 'ada')).toBe(1);
  await say('hello');
  const happened = await names(house, 'ada');
  expect(happened.filter((name) => name === 'session_started')).toHaveLength(2);
  expect(happened.lastIndexOf('session_started')).toBeGreaterThan(
    happened.indexOf('conversation_inactive'),
  );
});

test('two replicas of one store note a rest once, also when the one that armed the timer is gone', async () => {
  const scheduler = new ManualScheduler();
  const store = await openStore({ type: 'memory' });
  const first = await served({ scheduler, store });
  await using second = await served({ scheduler, store });
  await using third = await served({ scheduler, store });
  await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      first.say('water the Monstera', { contextId: `c${index}` }),
    ),
  );
  await first[Symbol.asyncDispose]();
  await pass(scheduler, 62);
  const total = async () => {
    const counts = Array.from({ length: 30 }, (_, index) => restsOf(second, `c${index}`));
    return (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
  };
  await expect
    .poll(() => {
      scheduler.advance(minute / 6);
      return total();
    })
    .toBe(30);
  await pass(scheduler, 5);
  expect(await total()).toBe(30);
  expect(third.logged).not.toContain('assistant.inactivity.failed');
  await store.close();
});

test('a conversation that was forgotten does not come back', async () => {
  const scheduler = new ManualScheduler();
  const store = await openStore({ type: 'memory' });
  await using house = await served({ scheduler, store });
  await house.say('what was that?', { contextId: 'c' });
  await house.api('DELETE', '/conversations/c/tracker');
  await pass(scheduler, 62);
  const left = async () => store.records.list({ space: 'assistant-inactivity', limit: 9, now: 0 });
  await expect
    .poll(async () => {
      scheduler.advance(minute / 6);
      return (await left()).length;
    })
    .toBe(0);
  expect(await restsOf(house, 'c')).toBe(0);
});

test('sessions without end have no timer', async () => {
  const scheduler = new ManualScheduler();
  const store = await openStore({ type: 'memory' });
  await using house = await served({
    scheduler,
    store,
    files: {
      'domain/session.yml':
        'session_config: {session_expiration_time: 0, start_session_after_expiry: false}\n',
    },
  });
  await house.say('what was that?', { contextId: 'c' });
  expect(await store.records.list({ space: 'assistant-inactivity', limit: 9, now: 0 })).toEqual([]);
  await pass(scheduler, 120);
  expect(await restsOf(house, 'c')).toBe(0);
});

test('a rest that the API posts makes the timer void; callers of A2A cannot pass for timers', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, store: { type: 'memory' } });
  await house.say('water the Monstera', { contextId: 'c' });
  await house.api('POST', '/conversations/c/tracker/events', { event: 'conversation_inactive' });
  await pass(scheduler, 65);
  expect(await restsOf(house, 'c')).toBe(1);
  const task = await house.say('', {
    contextId: 'c',
    parts: [
      { kind: 'text', text: 'hm' },
      { kind: 'data', data: { rests: 'x' } },
    ],
    metadata: { direct: true, channel: 'timer' },
  });
  expect(stateOf(task)['state']).toBeDefined();
  expect(await restsOf(house, 'c')).toBe(1);
});

test('a timer that is due while no model is loaded waits for the next model', async () => {
  const scheduler = new ManualScheduler();
  let beforeLoad = async (): Promise<void> => {};
  const store = intercepted(openMemory({ clock: scheduler }), {
    loadContext: async (go) => {
      await beforeLoad();
      return go();
    },
  });
  await using house = await served({ scheduler, store });
  await house.say('water the Monstera', { contextId: 'c' });
  beforeLoad = async () => {
    beforeLoad = async () => {};
    await house.api('DELETE', '/model');
  };
  await pass(scheduler, 60);
  await expect
    .poll(() => {
      scheduler.advance(minute);
      return house.warned;
    })
    .toContain('assistant.inactivity.record_failed');
  await house.api('PUT', '/model', {});
  await expect.poll(() => restsIn(scheduler, house, 'c')).toBe(1);
});

test('a timer that cannot be read is deleted and told, and holds up no other', async () => {
  const scheduler = new ManualScheduler();
  const store = openMemory({ clock: scheduler });
  await using house = await served({ scheduler, store });
  const space = 'assistant-inactivity';
  const broken = { space, key: '000000000000001-broken', value: Json.of({ id: 5 }) };
  await store.records.write([broken], scheduler.now());
  await house.say('water the Monstera', { contextId: 'c' });
  await pass(scheduler, 61);
  await expect.poll(() => restsIn(scheduler, house, 'c')).toBe(1);
  expect(house.logged).toContain('assistant.inactivity.failed');
  expect(await store.records.get(space, broken.key, 0)).toBeUndefined();
});

test('timers outlive the process: a rest that falls due while nobody runs is noted afterwards', async () => {
  const scheduler = new ManualScheduler();
  await using place = await projectFolder({});
  const store = { type: 'sqlite', path: place.path('greenhouse.db') } as const;
  const before = await served({ scheduler, store });
  await before.say('water the Monstera', { contextId: 'c' });
  await before[Symbol.asyncDispose]();
  scheduler.advance(120 * minute);
  await using after = await served({ scheduler, store });
  await expect.poll(() => restsIn(scheduler, after, 'c')).toBe(1);
});

test('a conversation that rests with an open question keeps its place among max_contexts', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({
    scheduler,
    store: { type: 'memory' },
    files: {
      'endpoints.yml': 'a2a_server: {description: Looks after a greenhouse., max_contexts: 1}\n',
    },
  });
  await house.say('water the Monstera', { contextId: 'one' });
  await pass(scheduler, 61);
  await expect.poll(() => restsIn(scheduler, house, 'one')).toBe(1);
  const refused = await house.say('water the Ficus', { contextId: 'two' });
  expect(stateOf(refused)).toMatchObject({ error_type: 'context_limit' });
  expect(wordsOf(await house.say('5', { contextId: 'one' }))[0]).toBe('Monstera got 5 litres.');
});
