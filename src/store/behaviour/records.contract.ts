import { describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import type { RecordWrite } from '../contract.ts';
import { admit, append, completed, type CurrentStore, ending } from './fixtures.contract.ts';

export function recordsBehaviour(current: CurrentStore): void {
  const put = (key: string, value: number, more: Partial<RecordWrite> = {}): RecordWrite => ({
    space: 's',
    key,
    value: Json.of(value),
    ...more,
  });
  const keys = async (
    query: { prefix?: string; after?: string; limit?: number; now?: number } = {},
  ): Promise<string[]> => {
    const found = await current().records.list({ space: 's', limit: 100, now: 0, ...query });
    return found.map(({ key }) => key);
  };

  describe('records', () => {
    test('are kept by space and key', async () => {
      const { records } = current();
      expect(await records.write([put('k', 1, { expiresAt: 900 })], 100)).toBe(true);
      const found = await records.get('s', 'k', 200);
      expect(found).toMatchObject({ key: 'k', version: 1, updatedAt: 100, expiresAt: 900 });
      expect(found?.value.value).toBe(1);
      expect(await records.get('s', 'other', 200)).toBeUndefined();
      expect(await records.get('other', 'k', 200)).toBeUndefined();
    });

    test('count their writes', async () => {
      const { records } = current();
      await records.write([put('k', 1, { expiresAt: 900 })], 100);
      await records.write([put('k', 2)], 200);
      const found = await records.get('s', 'k', 300);
      expect(found).toMatchObject({ version: 2, updatedAt: 200 });
      expect(found).not.toHaveProperty('expiresAt');
    });

    test('vanish when they expire, and start again after that', async () => {
      const { records } = current();
      await records.write([put('k', 1, { expiresAt: 900 })], 100);
      expect(await records.get('s', 'k', 899)).toBeDefined();
      expect(await records.get('s', 'k', 900)).toBeUndefined();
      expect(await keys({ now: 900 })).toEqual([]);
      expect(await records.write([put('k', 2, { ifVersion: 0 })], 900)).toBe(true);
      expect(await records.get('s', 'k', 900)).toMatchObject({ version: 1 });
    });

    test('are deleted by a write without a value', async () => {
      const { records } = current();
      await records.write([put('k', 1)], 100);
      expect(await records.write([{ space: 's', key: 'k' }], 200)).toBe(true);
      expect(await records.get('s', 'k', 300)).toBeUndefined();
      expect(await records.write([{ space: 's', key: 'k' }], 200)).toBe(true);
      await records.write([put('k', 1)], 100);
      expect(await records.get('s', 'k', 300)).toMatchObject({ version: 1 });
    });

    test('an expected version must hold: 0 for none', async () => {
      const { records } = current();
      expect(await records.write([put('k', 1, { ifVersion: 1 })], 100)).toBe(false);
      expect(await records.write([put('k', 1, { ifVersion: 0 })], 100)).toBe(true);
      expect(await records.write([put('k', 2, { ifVersion: 0 })], 100)).toBe(false);
      expect(await records.write([put('k', 2, { ifVersion: 1 })], 100)).toBe(true);
      expect(await records.write([{ space: 's', key: 'k', ifVersion: 1 }], 100)).toBe(false);
      expect(await records.write([{ space: 's', key: 'k', ifVersion: 2 }], 100)).toBe(true);
      expect(await records.get('s', 'k', 100)).toBeUndefined();
    });

    test('several writes happen all or not at all', async () => {
      const { records } = current();
      await records.write([put('b', 1)], 100);
      expect(await records.write([put('a', 2), put('b', 2, { ifVersion: 9 })], 200)).toBe(false);
      expect(await keys()).toEqual(['b']);
      expect(await records.write([put('a', 2), put('b', 2, { ifVersion: 1 })], 200)).toBe(true);
      expect(await keys()).toEqual(['a', 'b']);
    });

    test('of two writers that expect the same version one wins', async () => {
      const { records } = current();
      const won = await Promise.all([
        records.write([put('k', 1, { ifVersion: 0 })], 100),
        records.write([put('k', 2, { ifVersion: 0 })], 100),
      ]);
      expect(won).toEqual([true, false]);
      expect((await records.get('s', 'k', 100))?.value.value).toBe(1);
    });

    test('an append whose records do not hold conflicts and writes nothing', async () => {
      const store = current();
      const { turn } = await admit(store);
      const records = [put('k', 1, { ifVersion: 4 })];
      expect(await store.append(ending(turn, 1, completed, { records }))).toEqual({
        kind: 'version-conflict',
      });
      expect(await store.load('t')).toMatchObject({ version: 1 });
      await append(store, ending(turn, 1, completed, { records: [put('k', 1, { ifVersion: 0 })] }));
      expect(await store.records.get('s', 'k', 100)).toMatchObject({ version: 1, updatedAt: 2000 });
    });
  });

  describe('a list of records', () => {
    test('is in the order of the keys, by code points', async () => {
      const order = ['', '\u0000', 'A', 'Z', 'a', 'a\u0000', 'aa', 'b', 'ä', '\uFFEE', '\u{1F600}'];
      await current().records.write(
        order.toReversed().map((key, index) => put(key, index)),
        0,
      );
      expect(await keys()).toEqual(order);
    });

    test('can be narrowed to a prefix', async () => {
      const all = ['a', 'p', 'p/', 'p/1', 'p/\u{10FFFF}', 'p/\u{10FFFF}x', 'p0', 'q'];
      await current().records.write(
        all.map((key, index) => put(key, index)),
        0,
      );
      expect(await keys({ prefix: 'p/' })).toEqual(['p/', 'p/1', 'p/\u{10FFFF}', 'p/\u{10FFFF}x']);
      expect(await keys({ prefix: 'p/\u{10FFFF}' })).toEqual(['p/\u{10FFFF}', 'p/\u{10FFFF}x']);
      expect(await keys({ prefix: 'x' })).toEqual([]);
    });

    test('takes % and _ in a prefix as they are', async () => {
      await current().records.write([put('a_c', 1), put('abc', 2), put('%', 3)], 0);
      expect(await keys({ prefix: 'a_' })).toEqual(['a_c']);
      expect(await keys({ prefix: '%' })).toEqual(['%']);
    });

    test('continues after a key, and stops at its limit', async () => {
      const all = ['a', 'p1', 'p1\u0000', 'p2', 'p3', 'q'];
      await current().records.write(
        all.map((key, index) => put(key, index)),
        0,
      );
      expect(await keys({ prefix: 'p', limit: 2 })).toEqual(['p1', 'p1\u0000']);
      expect(await keys({ prefix: 'p', after: 'p1' })).toEqual(['p1\u0000', 'p2', 'p3']);
      expect(await keys({ prefix: 'p', after: 'a' })).toEqual(['p1', 'p1\u0000', 'p2', 'p3']);
      expect(await keys({ prefix: 'p', after: 'p3' })).toEqual([]);
      expect(await keys({ prefix: 'p', after: 'z' })).toEqual([]);
      expect(await keys({ after: 'p3' })).toEqual(['q']);
    });
  });

  describe('counters', () => {
    const counter = { space: 's', key: 'n', by: 1, expiresAt: 900, now: 100 };

    test('start at 0 and add up', async () => {
      const { records } = current();
      expect(await records.increment(counter)).toBe(1);
      expect(await records.increment({ ...counter, by: 5 })).toBe(6);
      expect(await records.increment({ ...counter, by: -2 })).toBe(4);
      expect((await records.get('s', 'n', 100))?.value.value).toBe(4);
    });

    test('vanish at the expiry of the call that started them', async () => {
      const { records } = current();
      await records.increment(counter);
      await records.increment({ ...counter, expiresAt: 5000, now: 800 });
      expect(await records.get('s', 'n', 899)).toMatchObject({ version: 2, expiresAt: 900 });
      expect(await records.increment({ ...counter, expiresAt: 5000, now: 900 })).toBe(1);
    });

    test('lose no addition made at the same moment', async () => {
      const { records } = current();
      const values = await Promise.all(
        Array.from({ length: 50 }, () => records.increment(counter)),
      );
      expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
    });

    test("a record without a number can't be incremented", async () => {
      const { records } = current();
      await records.write([{ space: 's', key: 'n', value: Json.of('text') }], 100);
      await expect(records.increment(counter)).rejects.toMatchObject({ code: 'INTERNAL' });
      expect((await records.get('s', 'n', 100))?.value.value).toBe('text');
    });
  });
}
