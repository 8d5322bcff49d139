/**
 * Waits for work that may not heed the signal, or that others wait for too: an abort ends the wait
 * with the signal's reason, and the work continues unheard.
 */
export function until<T>(
  work: T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<Awaited<T>> {
  return new Promise<Awaited<T>>((resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    // Also after an abort: a late rejection must be handled, too.
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

/** Waits for work, but no longer than so many milliseconds; the work continues unheard. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = systemTimers.after(milliseconds, resolve);
  try {
    await Promise.race([work, promise]);
  } finally {
    timer.cancel();
  }
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

/** The longest that a timer can be set for; `setTimeout` takes more for 1 ms. */
const longestTimer = 2 ** 31 - 1;

/** Timers of the system, or of a simulation. */
export interface Timers {
  after(milliseconds: number, callback: () => void): { cancel(): void };
}

/** How long, and what the signal aborts with when that time is over. */
export interface TimeLimit {
  /** 0 or less for no limit. */
  readonly milliseconds: number;
  readonly reason: () => unknown;
}

export interface DeadlineOptions extends Partial<TimeLimit> {
  /** Aborts the deadline's signal, too, with its own reason. */
  readonly signal?: AbortSignal | readonly AbortSignal[] | undefined;
  /** @default the system's */
  readonly timers?: Timers;
}

/**
 * A signal that aborts when its parents do, when the time is over, or by `abort`. Dispose it when
 * the work is over: no timer and no listener is left. `AbortSignal.timeout` keeps its timer until
 * it runs out, and `AbortSignal.any` what listens to it, which fills the heap where calls are many.
 * @example
 * using deadline = new Deadline({ signal, milliseconds: 5_000, reason: () => new Error('too slow') });
 * await fetch(url, { signal: deadline.signal });
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #parents: readonly AbortSignal[];
  readonly #timers: Timers;
  #limit: TimeLimit | undefined;
  #timer: { cancel(): void } | undefined;
  #hasExpired = false;
  #isClosed = false;

  constructor(options: DeadlineOptions = {}) {
    const { signal = [], timers = systemTimers, milliseconds = 0, reason } = options;
    this.#parents = signal instanceof AbortSignal ? [signal] : signal;
    this.#timers = timers;
    if (reason !== undefined) this.#limit = { milliseconds, reason };
    const aborted = this.#parents.find((parent) => parent.aborted);
    if (aborted === undefined) {
      for (const parent of this.#parents) {
        parent.addEventListener('abort', this.#follow, { once: true });
      }
      this.restart();
    } else this.abort(aborted.reason);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time ended it, and neither a parent nor `abort`. */
  get hasExpired(): boolean {
    return this.#hasExpired;
  }

  /** Starts the time anew, or another time in its place. */
  restart(limit = this.#limit): void {
    this.#limit = limit;
    this.lift();
    if (limit === undefined || limit.milliseconds <= 0) return;
    if (this.#isClosed || this.signal.aborted) return;
    this.#timer = this.#timers.after(Math.min(limit.milliseconds, longestTimer), () => {
      this.#hasExpired = true;
      this.abort(limit.reason());
    });
  }

  /** The time no longer counts; the parents still do. */
  lift(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  abort(reason?: unknown): void {
    this.#release();
    this.#controller.abort(reason);
  }

  /** What `using` calls; by name for browsers, which do not all have `Symbol.dispose`. */
  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #release(): void {
    this.lift();
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => this.abort(this.#parents.find(({ aborted }) => aborted)?.reason);
}

export const systemTimers: Timers = {
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return { cancel: () => clearTimeout(timer) };
  },
};
