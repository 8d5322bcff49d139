import { expect, test } from 'vitest';
import { backoffDelay, retryAfterDelay } from './backoff.ts';

test('waits grow by the factor, up to the longest', () => {
  const options = { initialDelay: 100, factor: 10, maxDelay: 5_000 };
  const longest = [1, 2, 3, 60].map((attempts) => backoffDelay(attempts, () => 1, options));
  expect(longest).toEqual([100, 1_000, 5_000, 5_000]);
});

test('half of a wait is random', () => {
  expect(backoffDelay(1, () => 0)).toBe(500);
  expect(backoffDelay(1, () => 0.5)).toBe(750);
  expect(backoffDelay(1, () => 1)).toBe(1_000);
});

test.each([
  ['120', 120_000],
  ['0', 0],
  ['9999999999', 3_600_000],
  ['Thu, 01 Jan 1970 00:01:30 GMT', 60_000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['soon', undefined],
  ['-5', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After: %s', (header, delay) => {
  expect(retryAfterDelay(header, 30_000)).toBe(delay);
});
