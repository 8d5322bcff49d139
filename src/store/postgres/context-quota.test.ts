import { expect, test } from 'vitest';
import { ContextQuota } from './context-quota.ts';

test('a small limit is counted every time, and no limit never', () => {
  const quota = new ContextQuota(() => 0);
  quota.learn('a', 64, 3);
  expect(quota.limitFor('a', 64)).toBe(64);
  expect(quota.limitFor('a', 0)).toBe(0);
});

test('replicas together exceed a large limit by a sixteenth of it each at most', () => {
  const max = 1_000;
  const replicas = Array.from({ length: 5 }, () => new ContextQuota(() => 0));
  let open = 0;
  const admit = (quota: ContextQuota): boolean => {
    const limit = quota.limitFor('a', max);
    if (limit > 0) quota.learn('a', max, open);
    const isAdmitted = limit === 0 || (limit > 0 && open < max);
    if (isAdmitted) open += 1;
    return isAdmitted;
  };
  for (const quota of replicas) admit(quota);
  // One replica fills the limit while the others hold what they were granted; then they use it.
  for (const quota of replicas) while (admit(quota));
  expect(open).toBeGreaterThanOrEqual(max);
  expect(open).toBeLessThanOrEqual(max + (replicas.length - 1) * (max / 16));
});

test('of a large limit only a share is given away before it is counted again', () => {
  const quota = new ContextQuota(() => 0);
  expect(quota.limitFor('a', 10_000)).toBe(10_000);
  quota.learn('a', 10_000, 10_000 - 32);
  expect([1, 2, 3].map(() => quota.limitFor('a', 10_000))).toEqual([0, 0, 10_000]);
  expect(quota.limitFor('b', 10_000)).toBe(10_000);
  expect(quota.limitFor('a', 20_000)).toBe(20_000);
});

test('what was counted holds for a second; then one counts, and the others go on', () => {
  let now = 0;
  const quota = new ContextQuota(() => now);
  quota.learn('a', 10_000, 0);
  now = 999;
  expect(quota.limitFor('a', 10_000)).toBe(0);
  now = 1_000;
  expect([1, 2, 3].map(() => quota.limitFor('a', 10_000))).toEqual([10_000, 0, 0]);
  quota.learn('a', 10_000, 0);
  expect(quota.limitFor('a', 10_000)).toBe(0);
});

test('a limit that is reached stays so until it is counted again', () => {
  let now = 0;
  const quota = new ContextQuota(() => now);
  quota.learn('a', 10_000, 10_000);
  expect(quota.limitFor('a', 10_000)).toBe(-1);
  now = 1_000;
  expect([1, 2].map(() => quota.limitFor('a', 10_000))).toEqual([10_000, -1]);
  quota.learn('a', 10_000, 9_000);
  expect(quota.limitFor('a', 10_000)).toBe(0);
});

test('after a count that did not come the next admission counts', () => {
  const quota = new ContextQuota(() => 0);
  quota.learn('a', 10_000, 0);
  quota.forget('a');
  expect(quota.limitFor('a', 10_000)).toBe(10_000);
});
