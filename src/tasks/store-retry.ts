import { LegateError } from '../protocol/index.ts';
import type { Store } from '../store/index.ts';
import { retry, sleep } from '../time/index.ts';
import type { Scheduler } from './scheduler.ts';

/** Milliseconds between attempts while the store is unavailable: about 30 s in all. */
const delays: readonly number[] = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800];

/** Whether the store was unavailable: the same operation may succeed later. */
export function isStoreFailure(error: unknown): error is LegateError {
  return error instanceof LegateError && error.code === 'STORE_FAILED';
}

/**
 * What to log of a failure that belongs to an outage, which the store reports once: every operation
 * that it hits logs it for debugging only, without a stack. Undefined for any other failure.
 */
export function reportedOutage(
  store: Pick<Store, 'health'>,
  error: unknown,
): { readonly reason: string } | undefined {
  const isReported = store.health.outage !== undefined && isStoreFailure(error);
  return isReported ? { reason: error.message } : undefined;
}

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
