import { beforeEach, describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import {
  admit,
  alice,
  append,
  bob,
  carryOn,
  completed,
  type CurrentStore,
  type SetTime,
  ending,
  finishedTask,
  inputRequired,
  statusAppend,
  webhook,
  writeContext,
} from './fixtures.contract.ts';

const hour = 60 * 60 * 1000;
/** At time 9000: tasks that changed before 5000. */
const sweep = { retentionMs: 4000, limit: 10 };

export function sweepBehaviour(current: CurrentStore, setTime: SetTime): void {
  describe('sweeping', () => {
    beforeEach(() => setTime(9000));

    test('takes terminal tasks that changed before the time, and nothing younger', async () => {
      const store = current();
      await finishedTask(store, { taskId: 'old', contextId: 'a' }, 4999);
      await finishedTask(store, { taskId: 'young', contextId: 'b' }, 5000);
      expect(await store.sweep(sweep)).toMatchObject({ tasks: 1 });
      expect(await store.load('old')).toBeUndefined();
      expect(await store.load('young')).toBeDefined();
      expect(await store.list({ owner: alice, limit: 10 })).toMatchObject({ total: 1 });
    });

    test('keeps unfinished tasks, however old', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', contextId: 'a', now: 1 });
      await append(store, ending(turn, 1, inputRequired, { statusTime: 2 }));
      await admit(store, { taskId: 'b', contextId: 'b', now: 1 });
      expect(await store.sweep(sweep)).toMatchObject({ tasks: 0 });
      expect(await store.list({ owner: alice, limit: 10 })).toMatchObject({ total: 2 });
    });

    test('takes superseded tasks like terminal ones, unless a turn of them waits', async () => {
      const store = current();
      for (const taskId of ['a', 'b']) {
        const { turn } = await admit(store, { taskId, contextId: taskId, now: 1 });
        await append(store, ending(turn, 1, inputRequired, { statusTime: 2 }));
        const over = { isSuperseded: true, statusTime: 3 };
        await append(store, statusAppend(taskId, 2, inputRequired, over));
      }
      await carryOn(store, { taskId: 'b', contextId: 'b' });
      expect(await store.sweep(sweep)).toMatchObject({ tasks: 1 });
      expect(await store.load('a')).toBeUndefined();
      expect(await store.list({ owner: alice, limit: 10 })).toMatchObject({ total: 1 });
    });

    test('takes all that hangs on a task', async () => {
      const store = current();
      const { turn } = await admit(store, { push: webhook() });
      const snapshot = { version: 2, body: Json.fromText<never>('{"id":"t"}') };
      await append(store, ending(turn, 1, completed, { snapshot }));
      for (const { id } of await store.push.deliveries({ limit: 10 })) {
        await store.push.settle(id, { kind: 'dead', error: 'gone' });
      }
      expect(await store.sweep(sweep)).toMatchObject({ tasks: 1 });
      expect(await store.readEvents('t', 0, 10)).toEqual([]);
      expect(await store.push.list('t')).toEqual([]);
      expect(await store.push.deliveries({ limit: 10 })).toEqual([]);
      // Nothing of it shows through when the id is used again.
      await admit(store);
      expect(await store.load('t')).toMatchObject({ version: 1, hasPush: false, tail: [] });
      expect((await store.load('t'))?.snapshot.version).toBe(1);
    });

    test('keeps a task while a delivery of it is pending', async () => {
      const store = current();
      await finishedTask(store, { push: webhook() });
      expect(await store.sweep(sweep)).toMatchObject({ tasks: 0 });
      for (const { id } of await store.push.deliveries({ limit: 10 })) {
        await store.push.settle(id, { kind: 'delivered' });
      }
      expect(await store.sweep(sweep)).toMatchObject({ tasks: 1 });
    });

    test('takes no more tasks than its limit, and the rest next time', async () => {
      const store = current();
      for (const id of ['a', 'b', 'c']) await finishedTask(store, { taskId: id, contextId: id });
      expect(await store.sweep({ ...sweep, limit: 2 })).toMatchObject({ tasks: 2 });
      expect(await store.sweep({ ...sweep, limit: 2 })).toMatchObject({ tasks: 1 });
      expect(await store.sweep({ ...sweep, limit: 2 })).toMatchObject({ tasks: 0 });
    });

    test('takes contexts last written before the time, and keeps the others', async () => {
      const store = current();
      const write = (contextId: string, now: number) =>
        writeContext(store, {
          owner: alice,
          contextId,
          value: Json.of(1),
          log: [Json.of(2)],
          now,
        });
      await write('old', 1 * hour);
      await write('woken', 1 * hour);
      await write('woken', 9 * hour);
      await write('young', 9 * hour);
      await setTime(10 * hour);
      expect(await store.sweep({ limit: 10, contextRetentionMs: 5 * hour })).toEqual({
        tasks: 0,
        contexts: 1,
        messages: 0,
        records: 0,
      });
      expect(await store.loadContext(alice, 'old')).toBeUndefined();
      expect(await store.readContextLog(alice, 'old')).toEqual([]);
      for (const contextId of ['woken', 'young']) {
        expect(await store.loadContext(alice, contextId)).toBeDefined();
      }
      // Nothing of it shows through when its name is used again.
      await write('old', 9 * hour);
      expect(await store.loadContext(alice, 'old')).toMatchObject({ logLength: 1 });
    });

    test('the turns of a context tell when it was written', async () => {
      const store = current();
      const { turn } = await admit(store);
      const context = { owner: alice, contextId: 'c', value: Json.of('v') };
      await append(store, ending(turn, 1, completed, { context, now: 6 * hour }));
      const query = { limit: 10, contextRetentionMs: hour };
      await setTime(7 * hour);
      expect(await store.sweep(query)).toMatchObject({ contexts: 0 });
      await setTime(9 * hour);
      expect(await store.sweep(query)).toMatchObject({ contexts: 1 });
    });

    test('keeps a context while it has an unfinished task, of its own owner', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', contextId: 'c', now: 1 });
      await append(store, ending(turn, 1, inputRequired, { statusTime: 2 }));
      const value = Json.of(1);
      await writeContext(store, { owner: alice, contextId: 'c', value, now: 1 });
      await writeContext(store, { owner: bob, contextId: 'c', value, now: 1 });
      await setTime(6 * hour);
      const query = { limit: 10, contextRetentionMs: hour };
      expect(await store.sweep(query)).toMatchObject({ contexts: 1 });
      expect(await store.loadContext(alice, 'c')).toBeDefined();
      expect(await store.loadContext(bob, 'c')).toBeUndefined();
    });

    test('takes no more contexts than its limit, the oldest first', async () => {
      const store = current();
      for (const [contextId, time] of [['b', 2] as const, ['a', 1] as const, ['c', 3] as const]) {
        await writeContext(store, { owner: alice, contextId, value: Json.of(1), now: time * hour });
      }
      await setTime(10 * hour);
      const query = { limit: 2, contextRetentionMs: hour };
      expect(await store.sweep(query)).toMatchObject({ contexts: 2 });
      expect(await store.loadContext(alice, 'c')).toBeDefined();
      expect(await store.sweep(query)).toMatchObject({ contexts: 1 });
    });

    test('keeps tasks and the state of contexts for which no retention is given', async () => {
      const store = current();
      await finishedTask(store);
      await writeContext(store, { owner: alice, contextId: 'c', value: Json.of(1), now: 1 });
      await setTime(Date.now());
      expect(await store.sweep({ limit: 10 })).toMatchObject({ tasks: 0, contexts: 0 });
      expect(await store.loadContext(alice, 'c')).toBeDefined();
      expect(await store.load('t')).toBeDefined();
    });

    test('takes no more expired messages and records than its limit, and says how many', async () => {
      const store = current();
      for (const id of ['a', 'b', 'c']) {
        const dedupe = { key: id, digest: 'd', expiresAt: 8000 };
        await finishedTask(store, { taskId: id, contextId: id, dedupe }, 8500);
        const record = { space: 's', key: id, value: Json.of(1), expiresAt: 8000 };
        await store.records.write([record], 100);
      }
      const query = { ...sweep, limit: 2 };
      expect(await store.sweep(query)).toMatchObject({ messages: 2, records: 2 });
      expect(await store.sweep(query)).toMatchObject({ messages: 1, records: 1 });
      expect(await store.sweep(query)).toMatchObject({ messages: 0, records: 0 });
    });

    test('takes expired records and keeps the others', async () => {
      const store = current();
      await store.records.write(
        [
          { space: 's', key: 'gone', value: Json.of(1), expiresAt: 9000 },
          { space: 's', key: 'later', value: Json.of(1), expiresAt: 9001 },
          { space: 's', key: 'ever', value: Json.of(1) },
        ],
        100,
      );
      await store.sweep(sweep);
      const left = await store.records.list({ space: 's', limit: 10, now: 0 });
      expect(left.map(({ key }) => key)).toEqual(['ever', 'later']);
    });

    test('forgets messages whose turn has ended and whose time is over', async () => {
      const store = current();
      const dedupe = { key: 'm', digest: 'd', expiresAt: 9000 };
      const ended = await admit(store, { taskId: 'a', contextId: 'a', dedupe });
      await append(store, ending(ended.turn, 1, completed, { statusTime: 8000 }));
      const open = await admit(store, {
        taskId: 'b',
        contextId: 'b',
        dedupe: { ...dedupe, key: 'n' },
      });
      await store.sweep(sweep);
      expect(await store.loadTurn(ended.turn.id)).toBeUndefined();
      expect(await store.loadTurn(open.turn.id)).toEqual({ ended: false });
    });
  });
}
