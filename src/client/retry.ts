import { LegateError } from '../protocol/index.ts';
import type { PollOptions, Settings } from './options.ts';

/** Whether the same request may well succeed a little later. */
export function isTransient(error: unknown): error is LegateError {
  return (
    error instanceof LegateError &&
    (error.code === 'PEER_UNREACHABLE' ||
      error.code === 'UNAVAILABLE' ||
      error.code === 'RATE_LIMITED')
  );
}

/** The pause before try number `attempt` (from 1): doubling, half of it random. */
export function backoff(attempt: number, settings: Settings): number {
  const { initialMs, maximumMs } = settings.retry;
  const full = Math.min(maximumMs, initialMs * 2 ** (attempt - 1));
  return full * (0.5 + settings.random() / 2);
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
        const pause = pollPause(looks, settings.poll);
        await settings.sleep(Math.max(pause, (error.retryAfter ?? 0) * 1000), signal);
        continue;
      }
      failures += 1;
      if (!isTransient(error) || failures >= settings.retry.attempts) throw error;
      const asked = (error.retryAfter ?? 0) * 1000;
      if (asked > settings.retry.longestRetryAfterMs) throw error;
      await settings.sleep(Math.max(asked, backoff(failures, settings)), signal);
    }
  }
}
