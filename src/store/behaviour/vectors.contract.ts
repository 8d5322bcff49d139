import { describe, expect, test } from 'vitest';
import type { CurrentStore } from './fixtures.contract.ts';

const scope = { space: 's', owner: 'ada', model: 'm' };

export function vectorsBehaviour(current: CurrentStore): void {
  const write = (values: Readonly<Record<string, readonly number[]>>, of = scope) =>
    current().vectors.write(
      of,
      Object.entries(values).map(([key, vector]) => ({ key, vector: Float32Array.from(vector) })),
    );
  const nearest = (vector: readonly number[], limit = 10, of = scope) =>
    current().vectors.nearest(of, Float32Array.from(vector), limit);

  describe('vectors', () => {
    test('are found by their angle, the nearest first, whatever their length', async () => {
      await write({ east: [9, 0], north: [0, 1], west: [-2, 0] });
      const found = await nearest([1, 0.1]);
      expect(found.map(({ key }) => key)).toEqual(['east', 'north', 'west']);
      expect(found[0]?.similarity).toBeCloseTo(0.995, 3);
      expect(found[2]?.similarity).toBeCloseTo(-0.995, 3);
      expect(await nearest([0, 3], 1)).toMatchObject([{ key: 'north' }]);
    });

    test('have the similarity 0 to a zero vector, which ranks accordingly', async () => {
      await write({ east: [1, 0], zero: [0, 0], west: [-1, 0] });
      const found = await nearest([1, 0]);
      expect(found.map(({ key }) => key)).toEqual(['east', 'zero', 'west']);
      expect(found[1]?.similarity).toBeCloseTo(0, 6);
      const none = await nearest([0, 0]);
      expect(none.map(({ similarity }) => Math.abs(similarity))).toEqual([0, 0, 0]);
    });

    test('are replaced under their key, and the empty scope has none', async () => {
      await write({ a: [1, 0] });
      await write({ a: [0, 1], b: [1, 0] });
      expect(await nearest([0, 1], 1)).toMatchObject([{ key: 'a' }]);
      expect(await nearest([0, 1], 1, { ...scope, owner: 'bob' })).toEqual([]);
      await write({});
    });

    test('of another space, owner, model or length are left out', async () => {
      await write({ a: [1, 0], long: [1, 0, 0] });
      await write({ b: [1, 0] }, { ...scope, model: 'other' });
      await write({ c: [1, 0] }, { ...scope, owner: 'bob' });
      await write({ d: [1, 0] }, { ...scope, space: 'other' });
      expect((await nearest([1, 0])).map(({ key }) => key)).toEqual(['a']);
    });

    test('tell their keys in order, from one on', async () => {
      const { vectors } = current();
      expect(await vectors.lastKey(scope)).toBeUndefined();
      await write({ c: [1], a: [1], 'b\0': [1], ü: [1] });
      expect(await vectors.keys(scope, { limit: 10 })).toEqual(['a', 'b\0', 'c', 'ü']);
      expect(await vectors.keys(scope, { after: 'a', limit: 2 })).toEqual(['b\0', 'c']);
      expect(await vectors.lastKey(scope)).toBe('ü');
    });

    test('are deleted by key, or all of an owner, of every model', async () => {
      const { vectors } = current();
      const other = { ...scope, model: 'other' };
      await write({ a: [1], b: [1] });
      await write({ a: [1], b: [1] }, other);
      await write({ a: [1] }, { ...scope, owner: 'bob' });
      await vectors.delete({ space: 's', owner: 'ada', keys: ['a'] });
      expect(await vectors.keys(scope, { limit: 10 })).toEqual(['b']);
      expect(await vectors.keys(other, { limit: 10 })).toEqual(['b']);
      await vectors.delete({ space: 's', owner: 'ada' });
      expect(await vectors.lastKey(scope)).toBeUndefined();
      expect(await vectors.lastKey(other)).toBeUndefined();
      expect(await vectors.lastKey({ ...scope, owner: 'bob' })).toBe('a');
    });

    test('are compared page by page, without one being missed', async () => {
      const many = Array.from({ length: 450 }, (_, at) => {
        const angle = at / 400;
        return [`k${at}`, [Math.cos(angle), Math.sin(angle)]] as const;
      });
      await write(Object.fromEntries(many));
      const found = await nearest([0, 1], 3);
      expect(found.map(({ key }) => key)).toEqual(['k449', 'k448', 'k447']);
    });
  });
}
