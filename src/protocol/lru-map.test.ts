import { expect, test } from 'vitest';
import { LruMap } from './lru-map.ts';

test('beyond its size, a map evicts what was used longest ago', () => {
  const map = new LruMap<number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([1, undefined, 3]);
  map.set('a', 4);
  map.set('d', 5);
  expect(['a', 'c', 'd'].map((key) => map.get(key))).toEqual([4, undefined, 5]);
  map.delete('a');
  expect(map.get('a')).toBeUndefined();
});

test('a value is made once while it is in the map', () => {
  const map = new LruMap<object>(1);
  const made = map.getOrMake('a', () => ({}));
  expect(map.getOrMake('a', () => ({}))).toBe(made);
  map.getOrMake('b', () => ({}));
  expect(map.getOrMake('a', () => ({}))).not.toBe(made);
});
