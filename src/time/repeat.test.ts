import { expect, test, vi } from 'vitest';
import { repeat } from './retry.ts';

test('work is repeated with a pause in between, also after a failure, until it is stopped', async () => {
  vi.useFakeTimers();
  try {
    const errors: unknown[] = [];
    let count = 0;
    const work = async (): Promise<void> => {
      count += 1;
      if (count === 2) throw new Error('failed');
    };
    const repeated = repeat(100, work, { onError: (error) => errors.push(error) });
    await vi.advanceTimersByTimeAsync(350);
    expect([count, errors]).toEqual([3, [new Error('failed')]]);
    repeated.stop();
    await vi.advanceTimersByTimeAsync(1_000);
    expect([count, vi.getTimerCount()]).toEqual([3, 0]);
  } finally {
    vi.useRealTimers();
  }
});

test('work that is stopped while it runs is not repeated', async () => {
  vi.useFakeTimers();
  try {
    const running = Promise.withResolvers<void>();
    let count = 0;
    const work = (): Promise<void> => {
      count += 1;
      return running.promise;
    };
    const repeated = repeat(100, work, { onError: () => undefined });
    await vi.advanceTimersByTimeAsync(100);
    repeated.stop();
    running.resolve();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(count).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});
