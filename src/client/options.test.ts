import { expect, test } from 'vitest';
import { sleep } from './options.ts';

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
