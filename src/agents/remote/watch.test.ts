import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Watch } from './watch.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watch(timeoutMs: number, inactivityTimeoutMs: number) {
  const parent = new AbortController();
  return { parent, watch: new Watch({ signal: parent.signal, timeoutMs, inactivityTimeoutMs }) };
}

test('silence is counted from the last event, the whole from the beginning', () => {
  const { watch: one } = watch(1_000, 300);
  for (let time = 0; time < 800; time += 200) {
    vi.advanceTimersByTime(200);
    one.restart();
  }
  expect(one.signal.aborted).toBe(false);
  vi.advanceTimersByTime(200);
  expect(one.expired).toBe('timeout');

  const { watch: other } = watch(0, 300);
  vi.advanceTimersByTime(299);
  expect(other.expired).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect(other.expired).toBe('inactivity');
});

test('an abort of the turn is passed on, and is no expiry', () => {
  const { parent, watch: one } = watch(0, 0);
  parent.abort(new Error('stop'));
  expect(one.signal.reason).toEqual(new Error('stop'));
  expect(one.expired).toBeUndefined();
});

test('a closed watch leaves no timer and no listener', () => {
  const { parent, watch: one } = watch(100, 100);
  one.close();
  expect(vi.getTimerCount()).toBe(0);
  parent.abort();
  expect(one.signal.aborted).toBe(false);
});
