import { afterEach, expect, test, vi } from 'vitest';
import { systemScheduler, timeOrderedUuid } from './scheduler.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('a delay beyond the maximum of setTimeout ends when it is over, and restarts as a whole', () => {
  vi.useFakeTimers();
  const month = 30 * 24 * 60 * 60 * 1000;
  let calls = 0;
  const timer = systemScheduler.after(month, () => (calls += 1));
  systemScheduler.after(Infinity, () => (calls += 1));
  for (let restarts = 0; restarts < 2; restarts += 1) {
    vi.advanceTimersByTime(month - 1);
    expect(calls).toBe(0);
    timer.restart();
  }
  vi.advanceTimersByTime(month);
  expect(calls).toBe(1);
  timer.restart();
  timer.cancel();
  vi.advanceTimersByTime(month);
  expect([calls, vi.getTimerCount()]).toEqual([1, 1]);
});

const noon = 1_700_000_000_000;

function made(count: number, now: number): string[] {
  return Array.from({ length: count }, () => timeOrderedUuid(now));
}

test('ids are version 7 and carry their time', () => {
  for (const id of made(2_000, noon)) {
    expect(id).toMatch(/^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test('each id sorts after those before it, within a millisecond and beyond what it has room for', () => {
  const ids = [...made(10_000, noon + 10), ...made(10, noon + 11), ...made(10, noon + 500)];
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
});

test('a clock that is set back a little is waited for, and followed when it is set back by much', () => {
  const [before = ''] = made(1, noon + 5_000);
  const [little = ''] = made(1, noon + 4_500);
  const [much = ''] = made(1, noon + 1_000);
  expect(little > before).toBe(true);
  expect(much.slice(0, 13)).toBe('018bcfe5-6be8');
});

test('the ids of a millisecond do not tell the next one', () => {
  const ends = made(1_000, noon + 6_000).map((id) => id.slice(19));
  expect(new Set(ends).size).toBe(1_000);
});
