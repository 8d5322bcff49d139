import { describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import type { Delivery } from '../contract.ts';
import {
  admit,
  append,
  completed,
  type CurrentStore,
  type SetTime,
  ending,
  statusAppend,
  statusEvent,
  webhook,
  working,
} from './fixtures.contract.ts';

export function pushBehaviour(current: CurrentStore, setTime: SetTime): void {
  const claim = async (now: number, limit = 10): Promise<readonly Delivery[]> => {
    await setTime(now);
    return current().push.claim({ replica: 'r1', leaseMs: 100, limit });
  };
  const owed = async (now: number): Promise<[string, number][]> =>
    (await claim(now)).map(({ push, sequence }) => [push.config.id, sequence]);
  /** A task with webhooks to which the events 2 up to `last` are owed since time 2000. */
  const owing = async (last: number, ...webhooks: string[]): Promise<void> => {
    const store = current();
    await admit(store);
    for (const id of webhooks) await store.push.put('t', webhook(id));
    const events = [];
    for (let sequence = 2; sequence <= last; sequence += 1) {
      events.push(statusEvent(sequence, working));
    }
    await append(store, statusAppend('t', 1, working, { events }));
  };

  describe('push configurations', () => {
    test('are kept as registered, in the order of registration', async () => {
      const store = current();
      await admit(store);
      const full = {
        config: {
          id: 'z',
          taskId: 't',
          url: 'https://example.com/z',
          token: 'secret',
          authentication: { scheme: 'Bearer', credentials: 'more secret' },
        },
        wireVersion: '0.3',
      } as const;
      await store.push.put('t', full);
      await store.push.put('t', webhook('a'));
      expect(await store.push.get('t', 'z')).toEqual(full);
      expect(await store.push.list('t')).toEqual([full, webhook('a')]);
      expect((await store.load('t'))?.hasPush).toBe(true);
    });

    test('one of the same id is replaced in its place', async () => {
      const store = current();
      await admit(store);
      await store.push.put('t', webhook('a'));
      await store.push.put('t', webhook('b'));
      await store.push.put('t', webhook('a', '0.3'));
      expect(await store.push.list('t')).toEqual([webhook('a', '0.3'), webhook('b')]);
    });

    test('of an unknown task cannot be put, and are none', async () => {
      const store = current();
      await expect(store.push.put('x', webhook())).rejects.toMatchObject({
        code: 'TASK_NOT_FOUND',
      });
      expect(await store.push.list('x')).toEqual([]);
      expect(await store.push.get('x', 'w')).toBeUndefined();
      expect(await store.push.delete('x', 'w')).toBe(false);
    });

    test('of one task are none of another', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a' });
      await admit(store, { taskId: 'b', contextId: 'b' });
      await store.push.put('a', webhook());
      expect(await store.push.get('b', 'w')).toBeUndefined();
      expect(await store.push.delete('b', 'w')).toBe(false);
      expect((await store.load('b'))?.hasPush).toBe(false);
    });

    test('deleting says whether there was one', async () => {
      const store = current();
      await admit(store);
      await store.push.put('t', webhook());
      expect(await store.push.delete('t', 'w')).toBe(true);
      expect(await store.push.delete('t', 'w')).toBe(false);
      expect(await store.push.list('t')).toEqual([]);
      expect((await store.load('t'))?.hasPush).toBe(false);
    });
  });

  describe('deliveries', () => {
    test('are written for each event and configuration, and the append says so', async () => {
      const store = current();
      await admit(store);
      await store.push.put('t', webhook('a'));
      await store.push.put('t', webhook('b'));
      const events = [statusEvent(2, working), statusEvent(3, working)];
      const outcome = await append(store, statusAppend('t', 1, working, { events }));
      expect(outcome.deliveries).toBe(true);

      const all = await store.push.deliveries({ limit: 10 });
      expect(all.map(({ sequence, push }) => [sequence, push.config.id])).toEqual([
        [2, 'a'],
        [2, 'b'],
        [3, 'a'],
        [3, 'b'],
      ]);
      expect(all[0]).toMatchObject({
        taskId: 't',
        attempts: 0,
        state: 'pending',
        nextAttemptAt: 2000,
        push: webhook('a'),
      });
    });

    test('are not written without a configuration', async () => {
      const store = current();
      await admit(store);
      const outcome = await append(store, statusAppend('t', 1, working));
      expect(outcome.deliveries).toBe(false);
      expect(await store.push.deliveries({ limit: 10 })).toEqual([]);
    });

    test('are not written for events before the registration', async () => {
      const store = current();
      await admit(store);
      await store.push.put('t', webhook());
      expect(await store.push.deliveries({ limit: 10 })).toEqual([]);
    });

    test("are not written for a caller's follow-up", async () => {
      const store = current();
      await admit(store);
      await store.push.put('t', webhook());
      const message = { messageId: 'm', role: 'ROLE_USER' as const, parts: [] };
      const events = [{ sequence: 2, body: Json.of({ message }) }];
      const outcome = await append(store, statusAppend('t', 1, working, { events }));
      expect(outcome.deliveries).toBe(false);
      expect(await store.push.deliveries({ limit: 10 })).toEqual([]);
    });

    test('a configuration given with a new task is owed its first event', async () => {
      const store = current();
      await admit(store, { push: webhook() });
      expect((await store.load('t'))?.hasPush).toBe(true);
      expect(await store.push.list('t')).toEqual([webhook()]);
      expect(await owed(1000)).toEqual([['w', 1]]);
    });

    test('carry the configuration as it is now', async () => {
      await owing(2, 'a');
      await current().push.put('t', webhook('a', '0.3'));
      expect(await claim(2000)).toMatchObject([{ push: webhook('a', '0.3') }]);
    });
  });

  describe('claiming deliveries', () => {
    test('gives of each configuration the oldest only', async () => {
      await owing(4, 'a', 'b');
      expect(await owed(2000)).toEqual([
        ['a', 2],
        ['b', 2],
      ]);
      expect(await owed(2000)).toEqual([]);
    });

    test('gives none before it is due, and no more than asked for', async () => {
      await owing(2, 'a', 'b', 'c');
      expect(await claim(1999)).toEqual([]);
      expect(await claim(2000, 2)).toHaveLength(2);
      expect(await claim(2000, 2)).toHaveLength(1);
    });

    test('those that are due for longest come first', async () => {
      await owing(2, 'a', 'b');
      const [a] = await claim(2000, 1);
      if (a === undefined) throw new Error('a delivery was expected');
      await current().push.settle(a.id, { kind: 'retry', afterMs: 500, error: 'e' });
      expect(await owed(3000)).toEqual([
        ['b', 2],
        ['a', 2],
      ]);
    });

    test('a delivered one vanishes and the next one follows', async () => {
      await owing(3, 'a');
      const [first] = await claim(2000);
      if (first === undefined) throw new Error('a delivery was expected');
      await current().push.settle(first.id, { kind: 'delivered' });
      expect(await owed(2000)).toEqual([['a', 3]]);
      expect(await current().push.deliveries({ limit: 10 })).toHaveLength(1);
    });

    test('one that failed holds up the ones behind it until it is due again', async () => {
      await owing(3, 'a');
      const [first] = await claim(2000);
      if (first === undefined) throw new Error('a delivery was expected');
      await current().push.settle(first.id, {
        kind: 'retry',
        afterMs: 3000,
        error: 'answered 503',
      });

      expect(await claim(4999)).toEqual([]);
      expect(await current().push.deliveries({ limit: 1 })).toMatchObject([
        { attempts: 1, nextAttemptAt: 5000, lastError: 'answered 503', state: 'pending' },
      ]);
      expect(await claim(5000)).toMatchObject([{ id: first.id, attempts: 1, sequence: 2 }]);
    });

    test('a lease that has ended lets another claim', async () => {
      await owing(2, 'a');
      const [first] = await claim(2000);
      expect(await claim(2099)).toEqual([]);
      expect(await claim(2100)).toEqual([first]);
    });

    test('the claims of a retired replica end at once', async () => {
      await owing(2, 'a');
      await claim(2000);
      await current().retire('r2');
      expect(await claim(2001)).toEqual([]);
      await current().retire('r1');
      expect(await claim(2001)).toHaveLength(1);
    });

    test('the next one is due when the first can be claimed', async () => {
      const store = current();
      expect(await store.push.nextDueMs()).toBeUndefined();
      await setTime(1900);
      await owing(3, 'a', 'b');
      expect(await store.push.nextDueMs()).toBe(100);
      const [a, b] = await claim(2000);
      if (a === undefined || b === undefined) throw new Error('deliveries were expected');
      expect(await store.push.nextDueMs()).toBe(100);
      await store.push.settle(a.id, { kind: 'retry', afterMs: 50, error: 'e' });
      expect(await store.push.nextDueMs()).toBe(50);
      await store.push.settle(b.id, { kind: 'delivered' });
      expect(await store.push.nextDueMs()).toBe(0);
    });
  });

  describe('dead deliveries', () => {
    const dieOne = async (): Promise<number> => {
      const [first] = await claim(2000, 1);
      if (first === undefined) throw new Error('a delivery was expected');
      await current().push.settle(first.id, { kind: 'dead', error: 'gave up' });
      return first.id;
    };

    test('no longer hold up the ones behind them', async () => {
      await owing(3, 'a');
      await dieOne();
      expect(await owed(2000)).toEqual([['a', 3]]);
    });

    test('are kept and listed', async () => {
      await owing(3, 'a');
      const id = await dieOne();
      const { push } = current();
      expect((await push.counts()).dead).toBe(1);
      expect(await push.deliveries({ state: 'dead', limit: 10 })).toMatchObject([
        { id, state: 'dead', attempts: 1, lastError: 'gave up' },
      ]);
      expect(await push.deliveries({ state: 'pending', limit: 10 })).toMatchObject([
        { sequence: 3 },
      ]);
      expect(await push.deliveries({ taskId: 't', limit: 10 })).toHaveLength(2);
      expect(await push.deliveries({ taskId: 'x', limit: 10 })).toEqual([]);
      expect(await push.deliveries({ after: id, limit: 10 })).toMatchObject([{ sequence: 3 }]);
      expect(await push.deliveries({ limit: 1 })).toMatchObject([{ id }]);
    });

    test('are revived at their old place, due at once, with no attempts made', async () => {
      await owing(3, 'a');
      const id = await dieOne();
      await setTime(2500);
      expect(await current().push.revive(id)).toBe(true);
      expect(await claim(2499)).toEqual([]);
      expect(await claim(2500)).toMatchObject([{ id, attempts: 0, sequence: 2 }]);
      await current().push.settle(id, { kind: 'delivered' });
      expect(await owed(2500)).toEqual([['a', 3]]);
    });

    test('only a dead one can be revived', async () => {
      await owing(2, 'a');
      const [first] = await claim(2000);
      if (first === undefined) throw new Error('a delivery was expected');
      expect(await current().push.revive(first.id)).toBe(false);
      expect(await current().push.revive(12_345)).toBe(false);
    });

    test('a late report of success removes them, a late failure does not count', async () => {
      await owing(2, 'a');
      const id = await dieOne();
      await current().push.settle(id, { kind: 'retry', afterMs: 600, error: 'late' });
      await current().push.settle(id, { kind: 'dead', error: 'late' });
      expect(await current().push.deliveries({ limit: 10 })).toMatchObject([
        { state: 'dead', attempts: 1, lastError: 'gave up' },
      ]);
      await current().push.settle(id, { kind: 'delivered' });
      expect(await current().push.deliveries({ limit: 10 })).toEqual([]);
    });

    test('settling one that is gone has no effect', async () => {
      await owing(3, 'a');
      const [first] = await claim(2000);
      if (first === undefined) throw new Error('a delivery was expected');
      await current().push.settle(first.id, { kind: 'delivered' });
      await current().push.settle(first.id, { kind: 'retry', afterMs: 7000, error: 'late' });
      expect(await owed(2000)).toEqual([['a', 3]]);
    });
  });

  describe('what vanishes', () => {
    test('with a configuration, its deliveries', async () => {
      await owing(3, 'a', 'b');
      await current().push.delete('t', 'a');
      expect(await current().push.deliveries({ limit: 10 })).toMatchObject([
        { push: webhook('b') },
        { push: webhook('b') },
      ]);
      expect(await owed(2000)).toEqual([['b', 2]]);
    });

    test('with a task that ended as a plain reply, its configurations and deliveries', async () => {
      const store = current();
      const { turn } = await admit(store, { push: webhook() });
      const reply = Json.of({ messageId: 'm', role: 'ROLE_AGENT' as const, parts: [] });
      await append(store, ending(turn, 1, completed, { events: [], reply }));
      expect(await store.push.list('t')).toEqual([]);
      expect(await store.push.deliveries({ limit: 10 })).toEqual([]);
      expect(await store.push.nextDueMs()).toBeUndefined();
    });
  });
}
