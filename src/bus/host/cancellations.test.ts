import { expect, test } from 'vitest';
import { openMemory } from '../../store/index.ts';
import { systemScheduler } from '../../tasks/index.ts';
import { PendingCancellations } from './cancellations.ts';

test('the number of pending cancellations of a caller is bounded', async () => {
  const pending = new PendingCancellations({
    store: openMemory(),
    scheduler: systemScheduler,
    agent: 'desk',
  });
  const eve = { tenant: '', subject: 'eve', method: 'jwt' };
  const ada = { tenant: '', subject: 'ada', method: 'jwt' };
  for (let count = 0; count < 1_000; count += 1) await pending.keep(`task ${count}`, eve);
  await expect(pending.keep('one more', eve)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await pending.keep('task 1', ada);
  expect(await pending.take('task 1', ada)).toBe(true);
  expect(await pending.take('task 1', ada)).toBe(false);
  // Its own requests make room once their tasks have arrived.
  expect(await pending.take('task 1', eve)).toBe(true);
  await pending.keep('one more', eve);
});
