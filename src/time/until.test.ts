import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { sleep, until, within } from './until.ts';

test('sleeping ends at once when the signal aborts, with its reason', async () => {
  const controller = new AbortController();
  const sleeping = sleep(3_600_000, controller.signal);
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  await expect(sleep(3_600_000, controller.signal)).rejects.toBe(reason);
});

test('sleeping ends by itself', async () => {
  await sleep(1);
  await sleep(1, new AbortController().signal);
});

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('waiting gives what the work gives, and leaves no listener', async () => {
  const { signal } = new AbortController();
  expect(await until(Promise.resolve(1), signal)).toBe(1);
  expect(await until(2, undefined)).toBe(2);
  await expect(until(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  expect(listeners(signal)).toBe(0);
});

test('an abort ends the wait, also an earlier one, and a later failure of the work is handled', async () => {
  const controller = new AbortController();
  const work = Promise.withResolvers<never>();
  const waiting = until(work.promise, controller.signal);
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(until(work.promise, controller.signal)).rejects.toBe(reason);
  await expect(until(Promise.resolve(1), controller.signal)).rejects.toBe(reason);
  work.reject(new Error('late'));
  await new Promise((resolve) => setImmediate(resolve));
});

test('work that ignores its signal ends in time nevertheless', async () => {
  const parent = new AbortController();
  const limit = { signal: parent.signal, milliseconds: 1, reason: () => new Error('late') };
  await expect(within(limit, () => new Promise(() => {}))).rejects.toThrow('late');
  expect(await within({ ...limit, milliseconds: 60_000 }, () => Promise.resolve(1))).toBe(1);
  expect(listeners(parent.signal)).toBe(0);
});
