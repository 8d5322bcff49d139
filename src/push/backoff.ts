/**
 * How long to wait before another attempt.
 * @example
 * const backoff: BackoffOptions = { initialDelay: 500, factor: 2 }; // at most 0.5, 1, 2, 4 s
 */
export interface BackoffOptions {
  /** Milliseconds before the second attempt. @default 1_000 */
  readonly initialDelay?: number;
  /** How much longer each wait is than the one before. @default 4 */
  readonly factor?: number;
  /** Milliseconds. @default 600_000 */
  readonly maxDelay?: number;
  /** Milliseconds: a `Retry-After` beyond this is cut. @default 3_600_000 */
  readonly maxRetryAfter?: number;
}

/**
 * Milliseconds to wait after the given number of failed attempts: half of it fixed, half random, so
 * that receivers that failed together are not called together again.
 */
export function backoffDelay(
  attempts: number,
  random: () => number,
  options: BackoffOptions = {},
): number {
  const { initialDelay = 1_000, factor = 4, maxDelay = 600_000 } = options;
  const full = Math.min(initialDelay * factor ** (attempts - 1), maxDelay);
  return Math.round(full / 2 + (random() * full) / 2);
}

/** Milliseconds that a `Retry-After` asks for: seconds or an HTTP date. Undefined when it says neither. */
export function retryAfterDelay(
  header: string | undefined,
  now: number,
  options: BackoffOptions = {},
): number | undefined {
  if (header === undefined) return undefined;
  const isDate = /^[A-Z][a-z]{2,8}, .+ GMT$/.test(header);
  if (!isDate && !/^\d{1,10}$/.test(header)) return undefined;
  const asked = isDate ? Date.parse(header) - now : Number(header) * 1_000;
  if (Number.isNaN(asked)) return undefined;
  return Math.min(Math.max(asked, 0), options.maxRetryAfter ?? 3_600_000);
}
