import { isStoreFailure } from '../store/index.ts';
import { retry, sleep } from '../time/index.ts';
import type { Scheduler } from './scheduler.ts';

/** Milliseconds between attempts while the store is unavailable: about 30 s in all. */
const delays: readonly number[] = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800];

/** Retries an idempotent operation while the store is unavailable (`STORE_FAILED`). */
export function retryWhileUnavailable<T>(
  scheduler: Scheduler,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  return retry(work, {
    delays,
    isRetryable: isStoreFailure,
    sleep: (milliseconds) => sleep(milliseconds, undefined, scheduler),
  });
}
