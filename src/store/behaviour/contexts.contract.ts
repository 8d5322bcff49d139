import { describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import {
  admit,
  alice,
  append,
  bob,
  completed,
  type CurrentStore,
  ending,
  writeContext,
} from './fixtures.contract.ts';

export function contextsBehaviour(current: CurrentStore): void {
  const entries = (...values: number[]): Json<number>[] => values.map((value) => Json.of(value));
  const readLog = async (owner: string, contextId: string, last?: number): Promise<unknown[]> =>
    (await current().readContextLog(owner, contextId, last)).map(({ value }) => value);

  describe('the state of a context', () => {
    test('is unknown until it is written', async () => {
      expect(await current().loadContext(alice, 'c')).toBeUndefined();
      expect(await readLog(alice, 'c')).toEqual([]);
    });

    test('a value replaces the former one; without a value the former stays', async () => {
      const store = current();
      await writeContext(store, { owner: alice, contextId: 'c', value: Json.of({ a: 1 }) });
      await writeContext(store, { owner: alice, contextId: 'c', value: Json.of({ b: 2 }) });
      await writeContext(store, { owner: alice, contextId: 'c', log: entries(1) });
      const record = await store.loadContext(alice, 'c');
      expect(record?.value?.value).toEqual({ b: 2 });
      expect(record?.logLength).toBe(1);
    });

    test('a log without a value has none', async () => {
      const store = current();
      await writeContext(store, { owner: alice, contextId: 'c', log: entries(1) });
      expect(await store.loadContext(alice, 'c')).toEqual({ value: undefined, logLength: 1 });
    });

    test('the value null is a value', async () => {
      const store = current();
      await writeContext(store, { owner: alice, contextId: 'c', value: Json.of(null) });
      expect((await store.loadContext(alice, 'c'))?.value?.text).toBe('null');
    });

    test('the log grows at its end, and its last entries are read oldest first', async () => {
      const store = current();
      await writeContext(store, { owner: alice, contextId: 'c', log: entries(1, 2) });
      await writeContext(store, { owner: alice, contextId: 'c', log: entries(3) });
      expect(await readLog(alice, 'c')).toEqual([1, 2, 3]);
      expect(await readLog(alice, 'c', 2)).toEqual([2, 3]);
      expect(await readLog(alice, 'c', 9)).toEqual([1, 2, 3]);
      expect(await readLog(alice, 'c', 0)).toEqual([]);
    });

    test('is written in the transaction of an append', async () => {
      const store = current();
      const { turn } = await admit(store);
      const context = { owner: alice, contextId: 'c', value: Json.of('v'), log: entries(7) };
      await append(store, ending(turn, 1, completed, { context }));
      expect((await store.loadContext(alice, 'c'))?.value?.value).toBe('v');
      expect(await readLog(alice, 'c')).toEqual([7]);
    });

    test('of two owners with the same context id are two', async () => {
      const store = current();
      await writeContext(store, {
        owner: alice,
        contextId: 'c',
        value: Json.of(1),
        log: entries(1),
      });
      expect(await store.loadContext(bob, 'c')).toBeUndefined();
      expect(await readLog(bob, 'c')).toEqual([]);
      await writeContext(store, { owner: bob, contextId: 'c', value: Json.of(2), log: entries(2) });
      expect((await store.loadContext(alice, 'c'))?.value?.value).toBe(1);
      expect(await readLog(alice, 'c')).toEqual([1]);
    });

    test('is kept apart however owner and context are spelled', async () => {
      const store = current();
      await writeContext(store, { owner: 'ab', contextId: 'c', value: Json.of(1) });
      expect(await store.loadContext('a', 'bc')).toBeUndefined();
    });

    test('is listed for operators: the latest hour first, in it the newest first, by pages', async () => {
      const store = current();
      const hour = 3_600_000;
      const write = (owner: string, contextId: string, now: number) =>
        writeContext(store, {
          owner,
          contextId,
          log: entries(1),
          now,
        });
      await write(alice, 'old', hour);
      await write(alice, 'c', 5 * hour);
      await write(bob, 'c', 5 * hour + 1);
      await write(alice, 'old', 9 * hour);
      const listed = async (query: Parameters<typeof store.listContexts>[0]) =>
        (await store.listContexts(query)).map(({ owner, contextId }) => [owner, contextId]);
      const all = [
        [alice, 'old'],
        [bob, 'c'],
        [alice, 'c'],
      ];
      expect(await listed({ limit: 10 })).toEqual(all);
      const [, second] = await store.listContexts({ limit: 2 });
      expect(second).toMatchObject({ owner: bob, retentionBucket: 6 * hour });
      expect(await listed({ limit: 10, ...(second && { after: second }) })).toEqual(all.slice(2));
      expect(await listed({ limit: 10, contextId: 'c' })).toEqual(all.slice(1));
      expect(await listed({ limit: 10, contextId: 'none' })).toEqual([]);
    });

    test('can be deleted, value and log, and started again', async () => {
      const store = current();
      await writeContext(store, {
        owner: alice,
        contextId: 'c',
        value: Json.of(1),
        log: entries(1),
      });
      expect(await store.deleteContext(bob, 'c')).toBe(false);
      expect(await store.deleteContext(alice, 'c')).toBe(true);
      expect(await store.deleteContext(alice, 'c')).toBe(false);
      expect(await store.loadContext(alice, 'c')).toBeUndefined();
      await writeContext(store, { owner: alice, contextId: 'c', log: entries(2) });
      expect(await readLog(alice, 'c')).toEqual([2]);
    });
  });
}
