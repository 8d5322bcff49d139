import { LegateError } from '../protocol/index.ts';
import { backoff, retry, type TimeLimit } from '../time/index.ts';
import type { PollOptions, Settings } from './options.ts';

/** The limit of a `Deadline` that rejects with `REQUEST_TIMEOUT`; 0 ms for no limit. */
export function timeLimit(failure: string, milliseconds: number): TimeLimit {
  const text = `${failure} within ${milliseconds} ms`;
  return { milliseconds, reason: () => new LegateError('REQUEST_TIMEOUT', text) };
}

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
  return Math.max(asked, backoff(failures, { initialMs, maximumMs, random: settings.random }));
}

/** The pause before look number `look` (from 1) at a task that has not changed. */
export function pollPause(look: number, poll: Required<PollOptions>): number {
  return backoff(look, { ...poll, factor: 1.5 });
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
  const { attempts } = settings.retry;
  let looks = 0;
  const delayAfter = (failed: number, error: unknown): number | undefined => {
    if (attempts > 1 && error instanceof LegateError && error.code === 'MESSAGE_IN_FLIGHT') {
      looks += 1;
      return pollPause(looks, settings.poll);
    }
    const failures = failed - looks;
    if (!isTransient(error) || failures >= attempts) return undefined;
    return pauseBefore(failures, error, settings);
  };
  return retry(run, { delays: delayAfter, signal, sleep: settings.sleep });
}
