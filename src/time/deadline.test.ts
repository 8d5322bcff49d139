import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Deadline } from './until.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const tooSlow = new Error('too slow');
const reason = (): Error => tooSlow;
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('the signal aborts when the time is over', () => {
  using deadline = new Deadline({ milliseconds: 100, reason });
  vi.advanceTimersByTime(99);
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(deadline.signal.reason).toBe(tooSlow);
  expect(deadline.hasExpired).toBe(true);
});

test('the signal aborts with any of its parents and their reason, which does not count as expiry', () => {
  const [first, second] = [new AbortController(), new AbortController()];
  using deadline = new Deadline({
    signal: [first.signal, second.signal],
    milliseconds: 100,
    reason,
  });
  second.abort('enough');
  expect(deadline.signal.reason).toBe('enough');
  expect(deadline.hasExpired).toBe(false);
  expect([listeners(first.signal), listeners(second.signal), vi.getTimerCount()]).toEqual([
    0, 0, 0,
  ]);
  expect(new Deadline({ signal: second.signal }).signal.reason).toBe('enough');
});

test('0 and Infinity mean unlimited, and a time beyond the maximum of setTimeout expires when it is over', () => {
  using none = new Deadline({ milliseconds: 0, reason });
  using infinite = new Deadline({ milliseconds: Infinity, reason });
  using long = new Deadline({ milliseconds: 2 ** 32, reason });
  vi.advanceTimersByTime(2 ** 32 - 1);
  expect(long.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(long.signal.aborted).toBe(true);
  expect([none.signal.aborted, infinite.signal.aborted]).toEqual([false, false]);
});

test('the time starts again, can be replaced, and can be lifted', () => {
  using deadline = new Deadline({ milliseconds: 100, reason });
  vi.advanceTimersByTime(90);
  deadline.restart();
  vi.advanceTimersByTime(90);
  deadline.restart({ milliseconds: 300, reason });
  vi.advanceTimersByTime(290);
  deadline.lift();
  vi.advanceTimersByTime(1_000);
  expect(deadline.signal.aborted).toBe(false);
  deadline.restart();
  vi.advanceTimersByTime(300);
  expect(deadline.signal.aborted).toBe(true);
});

test('once closed it leaves no timer and no listener, and starts none', () => {
  const parent = new AbortController();
  for (let count = 0; count < 1_000; count += 1) {
    using deadline = new Deadline({ signal: parent.signal, milliseconds: 300_000, reason });
    deadline.restart();
  }
  const closed = new Deadline({ signal: parent.signal, milliseconds: 300_000, reason });
  closed.close();
  closed.restart();
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners(parent.signal)).toBe(0);
  parent.abort();
  expect(closed.signal.aborted).toBe(false);
});
