/**
 * Waits for work until the signal aborts. The wait then rejects with the signal's reason, and the work
 * continues. Use it for work that may ignore the signal, or that several callers wait for.
 */
export function until<T>(
  work: T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<Awaited<T>> {
  return new Promise<Awaited<T>>((resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    // Attached after an abort too: a late rejection must be handled.
    Promise.resolve(work)
      .finally(() => signal?.removeEventListener('abort', onAbort))
      .then(resolve, reject);
  });
}

/** Runs work with a time limit, which also holds if the work ignores its signal. */
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

/** Waits for work, but no longer than `milliseconds`. The work itself continues after that. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = systemTimers.after(milliseconds, resolve);
  try {
    await Promise.race([work, promise]);
  } finally {
    timer.cancel();
  }
}

/** Waits. An abort ends the wait at once: it rejects with the signal's reason. */
export function sleep(
  milliseconds: number,
  signal?: AbortSignal,
  timers: Timers = systemTimers,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = timers.after(milliseconds, resolve);
  return until(promise, signal).finally(() => timer.cancel());
}

/** Longest delay of `setTimeout`, in milliseconds: it replaces longer ones by 1 ms. */
const longestDelay = 2 ** 31 - 1;

/**
 * Runs `callback` after a delay of any length; never after `Infinity`. `start` starts one timer, and is
 * called again each time that a part of a long delay is over.
 */
export function afterDelay(
  milliseconds: number,
  callback: () => void,
  start: (part: number, next: () => void) => void,
): void {
  const part = Math.min(milliseconds, longestDelay);
  start(part, () => {
    if (milliseconds > part) afterDelay(milliseconds - part, callback, start);
    else callback();
  });
}

/** Timers of the system, or of a simulation. */
export interface Timers {
  /** Runs `callback` after a delay of any length; never after `Infinity`. */
  after(milliseconds: number, callback: () => void): { cancel(): void };
}

/** A time limit, and the reason with which the signal aborts when the limit is reached. */
export interface TimeLimit {
  /** 0 or less for no limit. */
  readonly milliseconds: number;
  readonly reason: () => unknown;
}

export interface DeadlineOptions extends Partial<TimeLimit> {
  /** When one of these aborts, the deadline's signal aborts with the same reason. */
  readonly signal?: AbortSignal | readonly AbortSignal[] | undefined;
  /** @default the system's */
  readonly timers?: Timers;
}

/**
 * A signal that aborts when a parent aborts, when the time limit is reached, or on `abort`. Dispose of it
 * when the work has ended, to remove its timer and listeners. `AbortSignal.timeout` would keep its timer
 * until it fires, and `AbortSignal.any` its listeners, which fills the heap under many calls.
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

  /** Whether the time limit aborted the signal, and neither a parent nor `abort`. */
  get hasExpired(): boolean {
    return this.#hasExpired;
  }

  /** Restarts the time limit, or sets another one. */
  restart(limit = this.#limit): void {
    this.#limit = limit;
    this.lift();
    if (limit === undefined || limit.milliseconds <= 0) return;
    if (this.#isClosed || this.signal.aborted) return;
    this.#timer = this.#timers.after(limit.milliseconds, () => {
      this.#hasExpired = true;
      this.abort(limit.reason());
    });
  }

  /** Removes the time limit. Parents still abort the signal. */
  lift(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  abort(reason?: unknown): void {
    this.#release();
    this.#controller.abort(reason);
  }

  /** The same as disposal with `using`, for browsers without `Symbol.dispose`. */
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
    let timer: ReturnType<typeof setTimeout> | undefined;
    afterDelay(milliseconds, callback, (part, next) => {
      timer = setTimeout(next, part);
    });
    return { cancel: () => clearTimeout(timer) };
  },
};
