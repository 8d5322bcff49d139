import { LegateError } from '../protocol/index.ts';
import type { Store } from '../store/index.ts';
import type { Scheduler } from './scheduler.ts';

/** Waits between tries while the store is away, in milliseconds: about half a minute in all. */
export const retryDelays: readonly number[] = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800];

/** The store was away, or could not be written: what failed may succeed later. */
export function isStoreFailure(error: unknown): error is LegateError {
  return error instanceof LegateError && error.code === 'STORE_FAILED';
}

/**
 * What to note of a failure that belongs to an outage. An outage is reported once, and not by everybody
 * who meets it: they note it for debugging only, without a stack. Undefined for any other failure.
 */
export function reportedOutage(
  store: Pick<Store, 'health'>,
  error: unknown,
): { readonly reason: string } | undefined {
  const isReported = store.health.outage !== undefined && isStoreFailure(error);
  return isReported ? { reason: error.message } : undefined;
}

/**
 * Does what a turn has time for, and what does no harm when done twice: tries again while the store is
 * away.
 */
export async function patiently<T>(scheduler: Scheduler, work: () => Promise<T>): Promise<T> {
  for (const delay of retryDelays) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      await new Promise<void>((resolve) => void scheduler.after(delay, resolve));
    }
  }
  return work();
}
