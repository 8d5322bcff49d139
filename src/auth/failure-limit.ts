import { LegateError } from '../protocol/index.ts';
import { TokenBuckets } from './rate-limit.ts';

export interface FailureLimitOptions {
  /** Failures a minute that one network is let make. */
  readonly perMinute: number;
  /** @default the monotonic clock of the process */
  readonly clock?: { now(): number };
}

/** Networks that are kept out at one time. */
const maxBlocked = 10_000;

/**
 * Keeps out, for a while, networks that fail to authenticate again and again: guessing is slow then,
 * and costs us nothing. It is the network that waits, whoever else is in it.
 */
export class FailureLimit {
  readonly #clock: { now(): number };
  readonly #failures: TokenBuckets;
  /** Until when, in milliseconds of the clock; the one longest kept out first. */
  readonly #blocked = new Map<string, number>();

  constructor(options: FailureLimitOptions) {
    this.#clock = options.clock ?? { now: () => performance.now() };
    this.#failures = new TokenBuckets({
      rate: options.perMinute / 60,
      burst: options.perMinute,
      clock: this.#clock,
    });
  }

  /** Throws `RATE_LIMITED` for a network that is kept out. */
  check(network: string): void {
    const until = this.#blocked.get(network);
    if (until === undefined) return;
    const seconds = Math.ceil((until - this.#clock.now()) / 1_000);
    if (seconds <= 0) {
      this.#blocked.delete(network);
      return;
    }
    throw new LegateError('RATE_LIMITED', `too many failures; try again in ${seconds} s`, {
      retryAfter: seconds,
    });
  }

  note(network: string): void {
    try {
      this.#failures.take(network);
    } catch (error) {
      const seconds = error instanceof LegateError ? (error.retryAfter ?? 1) : 1;
      this.#blocked.delete(network);
      this.#blocked.set(network, this.#clock.now() + seconds * 1_000);
      const [oldest] = this.#blocked.keys();
      if (this.#blocked.size > maxBlocked && oldest !== undefined) this.#blocked.delete(oldest);
    }
  }
}
