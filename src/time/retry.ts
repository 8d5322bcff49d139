import { sleep as pause, systemTimers, type Timers } from './until.ts';

/**
 * Delays that grow by a factor.
 * @example const policy: BackoffPolicy = { initialMs: 250, maximumMs: 8_000, random: Math.random };
 */
interface BackoffPolicy {
  /** Milliseconds after the first failure. */
  readonly initialMs: number;
  /** Factor by which each delay grows. @default 2 */
  readonly factor?: number | undefined;
  /** Milliseconds. @default Infinity */
  readonly maximumMs?: number | undefined;
  /**
   * Returns a number in [0, 1]: half of each delay is then random, so that callers that failed together
   * do not retry together. @default no jitter
   */
  readonly random?: (() => number) | undefined;
}

/** Milliseconds to wait after failure number `failures`, from 1. */
export function backoff(failures: number, policy: BackoffPolicy): number {
  const { initialMs, factor = 2, maximumMs = Infinity, random } = policy;
  const full = Math.min(maximumMs, initialMs * factor ** (failures - 1));
  return random === undefined ? full : Math.round(full * (0.5 + random() / 2));
}

/**
 * The delay that a `Retry-After` header requests, in milliseconds. Its value is a number of seconds or an
 * HTTP date; undefined for any other value.
 */
export function retryAfterMs(value: string | null | undefined, now: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000;
  const date = /^[A-Z][a-z]{2,8}, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** One failure, as `retry` reports it. */
export interface FailedAttempt {
  /** From 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: unknown;
}

interface RetryOptions {
  /**
   * Milliseconds before each further attempt: a list, or a function of the number of failures and the
   * last error, for a backoff, a `Retry-After` or a deadline. On undefined there is no further attempt.
   */
  readonly delays: readonly number[] | ((failures: number, error: unknown) => number | undefined);
  /** @default every error */
  readonly isRetryable?: (error: unknown) => boolean;
  /** An abort ends a wait and prevents the next attempt. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each wait. */
  readonly onRetry?: (failed: FailedAttempt) => void;
  /** @default a timer */
  readonly sleep?: ((milliseconds: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

/**
 * Retries idempotent work that fails. Rejects with the last error, or with the signal's reason.
 * @example
 * await retry(() => store.load(id), { delays: [50, 100, 200], isRetryable: isStoreFailure, signal });
 */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { delays, isRetryable, signal, onRetry, sleep = pause } = options;
  const delayAfter =
    typeof delays === 'function' ? delays : (failures: number) => delays[failures - 1];
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (isRetryable?.(error) === false) throw error;
      const delayMs = delayAfter(attempt, error);
      if (delayMs === undefined) throw error;
      onRetry?.({ attempt, delayMs, error });
      await sleep(delayMs, signal);
    }
  }
}

/**
 * Repeats work, with a pause between two runs, until `stop` is called. A failed run is reported and does
 * not end the repetition.
 * @example const sweeping = repeat(60_000, sweep, { onError: report }); // sweeping.stop() ends it
 */
export function repeat(
  pauseMs: number,
  work: () => Promise<void>,
  options: {
    readonly onError: (error: unknown) => void;
    /** @default the system's */
    readonly timers?: Timers;
  },
): { stop(): void } {
  const { onError, timers = systemTimers } = options;
  let isStopped = false;
  let timer: { cancel(): void } | undefined;
  const schedule = (): void => {
    if (isStopped) return;
    timer = timers.after(pauseMs, () => {
      work().catch(onError).finally(schedule);
    });
  };
  schedule();
  return {
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
