/**
 * Waits for one thing after the other, each within the same time, and no longer than a signal lets
 * it; whether or not the other side heeds the signal that it is given.
 */
export class Patience implements Disposable {
  readonly #controller = new AbortController();
  readonly #options: PatienceOptions;
  #timer: NodeJS.Timeout | undefined;
  #giveUp: ((reason: unknown) => void) | undefined;

  constructor(options: PatienceOptions) {
    this.#options = options;
    const { signal } = options;
    if (signal.aborted) this.#end(signal.reason);
    else signal.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  wait<T>(work: PromiseLike<T>): Promise<T> {
    const { milliseconds } = this.#options;
    if (milliseconds > 0) {
      this.#timer ??= setTimeout(this.#expire, Math.min(milliseconds, longestTimer));
      this.#timer.refresh();
    }
    return new Promise<T>((resolve, reject) => {
      this.#giveUp = reject;
      work.then(resolve, reject);
      if (this.signal.aborted) reject(this.signal.reason as Error);
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#follow);
  }

  #end(reason: unknown): void {
    this.#controller.abort(reason);
    this.#giveUp?.(reason);
  }

  readonly #follow = (): void => this.#end(this.#options.signal.reason);
  readonly #expire = (): void => this.#end(this.#options.reason());
}

/** The longest that a timer can be set for; setTimeout takes more for 1 ms. */
const longestTimer = 2 ** 31 - 1;

export interface PatienceOptions {
  /** For each wait; 0 for no limit. */
  readonly milliseconds: number;
  readonly signal: AbortSignal;
  /** What is thrown when the time is up. */
  readonly reason: () => Error;
}

/** Waits for something that others wait for too, so that only the waiting ends with the signal. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const reason = (): Error => signal.reason as Error;
  using patience = new Patience({ milliseconds: 0, signal, reason });
  return await patience.wait(work);
}

/** Waits for something that was told to stop by the signal, but not much longer than that. */
export async function untilForced<T>(
  work: Promise<T>,
  signal: AbortSignal,
  graceMs: number,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => reject(signal.reason as Error), graceMs);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Runs something that must be over in time. */
export async function within<T>(
  options: PatienceOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using patience = new Patience(options);
  return await patience.wait(run(patience.signal));
}
