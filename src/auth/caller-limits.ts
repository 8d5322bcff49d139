import type { Caller } from '../agents/index.ts';
import { networkOf } from '../net/index.ts';
import { LegateError } from '../protocol/index.ts';
import { AuthError } from './auth-request.ts';
import { type RateLimiter, TokenBuckets } from './rate-limit.ts';

/**
 * How much one caller may ask for.
 * @example const limits: CallerLimitsOptions = { requestsPerSecond: 5, burst: 20, failuresPerMinute: 10 };
 */
export interface CallerLimitsOptions {
  /**
   * Requests per second in the long run; 0 for no limit. Counted in this process, or over all
   * replicas where they share a store. @default 0
   */
  readonly requestsPerSecond?: number;
  /** Requests at once after a pause. @default requestsPerSecond */
  readonly burst?: number;
  /** Calls in flight at one time, without open streams; 0 for no limit. @default 1_000 */
  readonly concurrentRequests?: number;
  /** Streams open at one time; 0 for no limit. @default 1_000 */
  readonly openStreams?: number;
  /**
   * Failures to authenticate that one network may make in a minute before it is kept out for a while;
   * 0 for no limit. Behind a proxy all callers are one network. @default 0
   */
  readonly failuresPerMinute?: number;
  /** For rates. @default the monotonic clock of the process */
  readonly clock?: { now(): number };
}

/**
 * What one caller may ask for at a time. Anonymous callers are told apart by their address.
 * @example const limits = new CallerLimits({ requestsPerSecond: 10, openStreams: 5 });
 */
export class CallerLimits {
  readonly #rate: RateLimiter | undefined;
  readonly #requests: ConcurrencyLimit | undefined;
  readonly #streams: ConcurrencyLimit | undefined;
  readonly #failures: TokenBuckets | undefined;

  /** `rate` replaces the one that is counted in this process, by one over all replicas. */
  constructor(options: CallerLimitsOptions = {}, rate?: RateLimiter) {
    const { requestsPerSecond = 0, burst = requestsPerSecond, failuresPerMinute = 0 } = options;
    const { concurrentRequests = 1_000, openStreams = 1_000 } = options;
    const clock = options.clock === undefined ? {} : { clock: options.clock };
    const buckets = (perSecond: number, most: number): TokenBuckets | undefined =>
      perSecond === 0 ? undefined : new TokenBuckets({ rate: perSecond, burst: most, ...clock });
    this.#rate = rate ?? buckets(requestsPerSecond, burst);
    this.#failures = buckets(failuresPerMinute / 60, failuresPerMinute);
    this.#requests = limitOf(concurrentRequests, 'requests under way');
    this.#streams = limitOf(openStreams, 'open streams');
  }

  /**
   * Authenticates by `work`, unless the network has failed too often recently. The limit applies to all
   * callers of that network.
   */
  async authentication(address: string, work: () => Promise<Caller>): Promise<Caller> {
    if (this.#failures === undefined) return work();
    const from = networkOf(address);
    this.#failures.check(from);
    try {
      return await work();
    } catch (error) {
      if (error instanceof AuthError && error.code === 'UNAUTHENTICATED') this.#failures.take(from);
      throw error;
    }
  }

  /** Admits one request; dispose of the permit when it has been answered. */
  request(caller: Caller, address: string): Disposable | Promise<Disposable> {
    const key = limitKey(caller, address);
    const enter = (): Disposable => this.#requests?.enter(key) ?? nothing;
    const taken = this.#rate?.take(key);
    return taken instanceof Promise ? taken.then(enter) : enter();
  }

  /** Admits one stream; dispose of the permit when it closes. */
  stream(caller: Caller, address: string): Disposable {
    return this.#streams?.enter(limitKey(caller, address)) ?? nothing;
  }
}

const nothing: Disposable = { [Symbol.dispose]() {} };

function limitOf(limit: number, what: string): ConcurrencyLimit | undefined {
  return limit === 0 ? undefined : new ConcurrencyLimit({ limit, what });
}

/** Unambiguous, whatever characters the parts have: no network is the JSON of a list. */
function limitKey({ tenant, subject }: Caller, address: string): string {
  return subject === '' ? networkOf(address) : JSON.stringify([tenant, subject]);
}

/** Callers that are remembered at most although they have nothing open: most come again at once. */
const maxIdle = 1_000;

/** At most so many of something at one time for each caller, in this process. */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #what: string;
  readonly #counts = new Map<string, number>();

  /** `what`: for the error, as `open streams`. */
  constructor(options: { readonly limit: number; readonly what: string }) {
    this.#limit = options.limit;
    this.#what = options.what;
  }

  /** Takes a permit until it is disposed. Throws `RATE_LIMITED` when there is none. */
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
