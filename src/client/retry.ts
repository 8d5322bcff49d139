import { LegateError } from '../protocol/index.ts';
import { backoff, retry, type TimeLimit } from '../time/index.ts';
import type { PollOptions, Settings } from './options.ts';

/** A time limit that rejects with `REQUEST_TIMEOUT`; 0 ms for no limit. */
export function timeLimit(failure: string, milliseconds: number): TimeLimit {
  const text = `${failure} within ${milliseconds} ms`;
  return { milliseconds, reason: () => new LegateError('REQUEST_TIMEOUT', text) };
}

/** Whether a retry of the same request can succeed. */
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
 * The pause after failure number `failures`: exponential with jitter, and at least `Retry-After`.
 * Throws the failure if the peer's `Retry-After` is longer than `longestRetryAfterMs`.
 */
export function pauseBefore(
  failures: number,
  failure: LegateError | undefined,
  settings: Settings,
): number {
  const { initialMs, maximumMs, longestRetryAfterMs } = settings.retry;
  const retryAfterMs = (failure?.retryAfter ?? 0) * 1000;
  if (retryAfterMs > longestRetryAfterMs) throw failure;
  return Math.max(
    retryAfterMs,
    backoff(failures, { initialMs, maximumMs, random: settings.random }),
  );
}

/** The pause before poll number `look` (from 1) of an unchanged task. */
export function pollPause(look: number, poll: Required<PollOptions>): number {
  return backoff(look, { ...poll, factor: 1.5 });
}

/**
 * Retries transient failures (no connection, no capacity). Only for idempotent requests: the peer can
 * have processed a request whose response was lost.
 *
 * `MESSAGE_IN_FLIGHT` is not counted as a failure: the peer works on the message, so the request is
 * repeated at the polling interval until the signal aborts.
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
