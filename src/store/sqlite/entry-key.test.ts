import { expect, test } from 'vitest';
import { entryKey, lastKey, sequenceOf } from './sqlite-tables.ts';

test('keys of one log are in order and stay within it', () => {
  expect(entryKey(7, 1)).toBeLessThan(entryKey(7, 2));
  expect(entryKey(7, 2 ** 22 - 1)).toBe(lastKey(7));
  expect(lastKey(7)).toBeLessThan(entryKey(8, 0));
  expect(sequenceOf(entryKey(7, 12_345))).toBe(12_345);
});

test('keys of the highest numbers are exact integers', () => {
  expect(Number.isSafeInteger(lastKey(2 ** 31 - 1))).toBe(true);
});

test('an entry beyond the end of a log is refused', () => {
  expect(() => entryKey(7, 2 ** 22)).toThrow(/cannot hold more than 4194303 entries/);
});
