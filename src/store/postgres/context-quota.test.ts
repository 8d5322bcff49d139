import { expect, test } from 'vitest';
import { ContextQuota } from './context-quota.ts';

const large = 10_000;

/** A quota of one of `replicas`, whose clock a test moves. */
function quotaOf(replicas = 1) {
  const clock = { now: 0 };
  let task = 0;
  const quota = new ContextQuota(
    () => replicas,
    () => clock.now,
  );
  const limits = (count: number, max = large, agent = 'a'): number[] =>
    Array.from({ length: count }, () => quota.limitFor(agent, max, `t${(task += 1)}`));
  return { quota, clock, limits };
}

test('a small limit is counted every time, and no limit never', () => {
  const { quota, limits } = quotaOf();
  quota.learn('a', 64, 3);
  expect([...limits(1, 64), ...limits(1, 0)]).toEqual([64, 0]);
});

test('of a large limit only a share is given away before it is counted again', () => {
  const { quota, limits } = quotaOf();
  expect(limits(1)).toEqual([large]);
  quota.learn('a', large, large - 32);
  expect(limits(3)).toEqual([0, 0, large]);
  expect(limits(1, large, 'b')).toEqual([large]);
  expect(limits(1, 20_000)).toEqual([20_000]);
});

test('the more replicas there are, the smaller is the share of each', () => {
  const { quota, limits } = quotaOf(100);
  quota.learn('a', large, large - 400);
  expect(limits(3)).toEqual([0, 0, large]);
});

test('a task that ends gives its share back, unless it was counted meanwhile', () => {
  const { quota, limits } = quotaOf();
  quota.learn('a', large, large - 16);
  expect(limits(2)).toEqual([0, large]);
  quota.ended('t1');
  quota.ended('t1');
  expect(limits(2)).toEqual([0, large]);
  quota.learn('a', large, large - 16);
  quota.ended('t3');
  expect(limits(2)).toEqual([0, large]);
});

test('what was counted is valid for five seconds; then one counts, and the others continue', () => {
  const { quota, clock, limits } = quotaOf();
  quota.learn('a', large, 0);
  clock.now = 4_999;
  expect(limits(1)).toEqual([0]);
  clock.now = 5_000;
  expect(limits(3)).toEqual([large, 0, 0]);
  quota.learn('a', large, 0);
  expect(limits(1)).toEqual([0]);
});

test('a limit that is reached is counted again after a second', () => {
  const { quota, clock, limits } = quotaOf();
  quota.learn('a', large, large);
  expect(limits(1)).toEqual([-1]);
  clock.now = 1_000;
  expect(limits(2)).toEqual([large, -1]);
  quota.learn('a', large, 9_000);
  expect(limits(1)).toEqual([0]);
});

test('after a count that did not come the next admission counts', () => {
  const { quota, limits } = quotaOf();
  quota.learn('a', large, 0);
  quota.forget('a');
  expect(limits(1)).toEqual([large]);
});
