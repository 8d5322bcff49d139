import { Deadline, type DeadlineOptions, systemTimers, type Timers } from './deadline.ts';

/**
 * Waits for work that may not heed the signal, or that others wait for too: an abort ends the wait
 * with the signal's reason, and the work goes on unheard.
 */
export function until<T>(
  work: T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<Awaited<T>> {
  return new Promise<Awaited<T>>((resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason as Error);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    // Also after an abort: a late rejection has to be handled by somebody.
    Promise.resolve(work)
      .finally(() => signal?.removeEventListener('abort', onAbort))
      .then(resolve, reject);
  });
}

/** Runs something that must be over in time, whether or not it heeds the signal that it is given. */
export async function within<T>(
  options: DeadlineOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline(options);
  try {
    return await until(run(deadline.signal), deadline.signal);
  } finally {
    deadline.close();
  }
}

/** Waits for work that never rejects, but no longer than so many milliseconds. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

/** Waits; an abort ends the wait at once with the signal's reason. */
export function sleep(
  milliseconds: number,
  signal?: AbortSignal,
  timers: Timers = systemTimers,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = timers.after(milliseconds, resolve);
  return until(promise, signal).finally(() => timer.cancel());
}
