import { expect, test } from 'vitest';
import { SortedKeys } from './sorted-keys.ts';

/** Keys, and what a list of them shows. */
function keysOf() {
  const live = new Set<string>();
  const keys = new SortedKeys((key) => live.has(key));
  return {
    keys,
    add: (key: string) => {
      if (live.has(key)) return;
      live.add(key);
      keys.add(key);
    },
    remove: (key: string) => {
      if (live.delete(key)) keys.remove();
    },
    shown: () => [...new Set(keys.list())].filter((key) => live.has(key)),
    expected: () => [...live].toSorted(),
  };
}

test('keys are listed in order, whatever was added and removed between the lists', () => {
  const { add, remove, shown, expected } = keysOf();
  let seed = 7;
  const next = (limit: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % limit;
  };
  for (let round = 0; round < 40; round += 1) {
    for (let count = next(300); count > 0; count -= 1) {
      const key = String(next(2_000)).padStart(4, '0');
      if (next(2) === 0) add(key);
      else remove(key);
    }
    expect(shown()).toEqual(expected());
  }
});

test('keys that nobody lists are forgotten once they are removed', () => {
  const { keys, add, remove } = keysOf();
  add('kept');
  for (let index = 0; index < 20_000; index += 1) {
    add(`k${index}`);
    remove(`k${index}`);
  }
  expect(keys.list().length).toBeLessThan(2_100);
  expect(keys.list()).toContain('kept');
});
