import { expect, test } from 'vitest';
import { backoff, type FailedAttempt, retry, retryAfterMs } from './retry.ts';

test('delays grow by the factor, up to the longest', () => {
  const policy = { initialMs: 100, factor: 10, maximumMs: 5_000 };
  expect([1, 2, 3, 60].map((failures) => backoff(failures, policy))).toEqual([
    100, 1_000, 5_000, 5_000,
  ]);
});

test('half of a delay is random where a source of randomness is given', () => {
  const delay = (random: number): number => backoff(1, { initialMs: 1_000, random: () => random });
  expect([0, 0.5, 1].map(delay)).toEqual([500, 750, 1_000]);
});

test.each([
  ['120', 120_000],
  ['0', 0],
  [' 5 ', 5_000],
  ['9999999999', 9_999_999_999_000],
  ['Thu, 01 Jan 1970 00:01:30 GMT', 60_000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['soon', undefined],
  ['-5', undefined],
  ['1e3', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After: %s', (header, delay) => {
  expect(retryAfterMs(header, 30_000)).toBe(delay);
});

/** Work that fails so many times, and the delays before it is repeated. */
function failing(times: number) {
  const delays: number[] = [];
  const work = async (attempt: number): Promise<number> => {
    if (attempt <= times) throw new Error(`failure ${attempt}`);
    return attempt;
  };
  const sleep = async (milliseconds: number): Promise<void> => void delays.push(milliseconds);
  return { delays, work, sleep };
}

test('work is repeated until it succeeds', async () => {
  const { work, sleep, delays } = failing(2);
  const failures: FailedAttempt[] = [];
  const onRetry = (failed: FailedAttempt): void => void failures.push(failed);
  expect(await retry(work, { delays: [10, 20, 30], sleep, onRetry })).toBe(3);
  expect(delays).toEqual([10, 20]);
  expect(failures).toMatchObject([
    { attempt: 1, delayMs: 10, error: { message: 'failure 1' } },
    { attempt: 2, delayMs: 20, error: { message: 'failure 2' } },
  ]);
});

test('after the last delay, the last failure is thrown', async () => {
  const { work, sleep } = failing(9);
  await expect(retry(work, { delays: [10, 20], sleep })).rejects.toThrow('failure 3');
});

test('a delay may depend on the failure, and be refused', async () => {
  const { work, sleep, delays } = failing(9);
  const delayAfter = (failures: number, error: unknown): number | undefined =>
    (error as Error).message === 'failure 3' ? undefined : failures * 100;
  await expect(retry(work, { delays: delayAfter, sleep })).rejects.toThrow('failure 3');
  expect(delays).toEqual([100, 200]);
});

test('an error that is not retryable is thrown at once', async () => {
  const { work, sleep, delays } = failing(9);
  const isRetryable = (): boolean => false;
  await expect(retry(work, { delays: [10], sleep, isRetryable })).rejects.toThrow('failure 1');
  expect(delays).toEqual([]);
});

test('an abort ends the wait, and keeps work from starting', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let attempts = 0;
  const waiting = retry(
    () => {
      attempts += 1;
      return Promise.reject(new Error('failure'));
    },
    { delays: [3_600_000], signal },
  );
  const outcome = expect(waiting).rejects.toThrow('enough');
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort(new Error('enough'));
  await outcome;
  await expect(retry(async () => (attempts += 1), { delays: [], signal })).rejects.toThrow(
    'enough',
  );
  expect(attempts).toBe(1);
});
