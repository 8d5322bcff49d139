import { LegateError } from '../protocol/index.ts';
import type { PollOptions, Settings } from './options.ts';

/** Whether the same request may well succeed a little later. */
export function isTransient(error: unknown): error is LegateError {
  return (
    error instanceof LegateError &&
    (error.code === 'PEER_UNREACHABLE' ||
      error.code === 'UNAVAILABLE' ||
      error.code === 'STORE_FAILED' ||
      error.code === 'RATE_LIMITED')
  );
}

/**
 * The pause after failure number `failures`: doubling, half of it random, and as long as the peer
 * asked for. Throws the failure where the peer asked for more than is waited for.
 */
export function pauseBefore(
  failures: number,
  failure: LegateError | undefined,
  settings: Settings,
): number {
  const { initialMs, maximumMs, longestRetryAfterMs } = settings.retry;
  const asked = (failure?.retryAfter ?? 0) * 1000;
  if (asked > longestRetryAfterMs) throw failure;
  const full = Math.min(maximumMs, initialMs * 2 ** (failures - 1));
  return Math.max(asked, full * (0.5 + settings.random() / 2));
}

/** The pause before look number `look` (from 1) at a task that has not changed. */
export function pollPause(look: number, poll: Required<PollOptions>): number {
  return Math.min(poll.maximumMs, poll.initialMs * 1.5 ** (look - 1));
}

/**
 * Repeats what failed for want of a connection or of capacity. Only for requests that do no harm
 * when the peer had carried out the first one and the answer was lost on the way.
 *
 * A message that is still being worked on (`MESSAGE_IN_FLIGHT`) is no failure: the peer has it and
 * works, so asking goes on at the pace of polling until the signal aborts.
 */
export async function withRetry<T>(
  settings: Settings,
  signal: AbortSignal | undefined,
  run: () => Promise<T>,
): Promise<T> {
  let failures = 0;
  let looks = 0;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      signal?.throwIfAborted();
      const isInFlight = error instanceof LegateError && error.code === 'MESSAGE_IN_FLIGHT';
      if (isInFlight && settings.retry.attempts > 1) {
        looks += 1;
        await settings.sleep(pollPause(looks, settings.poll), signal);
        continue;
      }
      failures += 1;
      if (!isTransient(error) || failures >= settings.retry.attempts) throw error;
      await settings.sleep(pauseBefore(failures, error, settings), signal);
    }
  }
}
