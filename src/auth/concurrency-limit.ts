import { LegateError } from '../protocol/index.ts';

/** Callers that are remembered at most although they have nothing open: most come again at once. */
const maxIdle = 1_000;

/**
 * At most so many of something at one time for each caller, in this process: requests under way,
 * open streams.
 * @example
 * const streams = new ConcurrencyLimit({ limit: 20, what: 'open streams' })
 * using place = streams.enter(callerKey)
 */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #what: string;
  readonly #counts = new Map<string, number>();

  constructor(options: {
    readonly limit: number;
    /** For the error: `open streams`. */
    readonly what: string;
  }) {
    this.#limit = options.limit;
    this.#what = options.what;
  }

  /** Takes a place until it is disposed. Throws `RATE_LIMITED` when there is none. */
  enter(key: string): Disposable {
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.#limit) {
      throw new LegateError(
        'RATE_LIMITED',
        `more than ${this.#limit} ${this.#what}; close one or try again in a moment`,
        { retryAfter: 1 },
      );
    }
    this.#counts.set(key, count + 1);
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#counts.set(key, (this.#counts.get(key) ?? 1) - 1);
        if (this.#counts.size > maxIdle) this.#forgetIdle();
      },
    };
  }

  #forgetIdle(): void {
    for (const [key, count] of this.#counts) if (count === 0) this.#counts.delete(key);
  }
}
