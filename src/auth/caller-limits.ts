import type { Caller } from '../agents/index.ts';
import { AuthError } from './credentials.ts';
import { networkOf } from '../net/index.ts';
import { invalidConfiguration, LegateError, LruMap, type OptionNames } from '../protocol/index.ts';
import type { RecordStore } from '../store/index.ts';
import { KeyedQueue } from '../time/index.ts';

/**
 * The limits of one caller.
 * @example const limits: CallerLimitsOptions = { requestsPerSecond: 5, burst: 20, failuresPerMinute: 10 };
 */
export interface CallerLimitsOptions {
  /**
   * Requests per second in the long run; 0 for no limit. Counted per process, or over all replicas if
   * they share a store. @default 0
   */
  readonly requestsPerSecond?: number;
  /** Burst size: requests at once after a pause. @default requestsPerSecond */
  readonly burst?: number;
  /** Calls in flight, without open streams; 0 for no limit. @default 1_000 */
  readonly concurrentRequests?: number;
  /** Open streams; 0 for no limit. @default 1_000 */
  readonly openStreams?: number;
  /**
   * Failed authentications per minute and network, after which the network is blocked temporarily;
   * 0 for no limit. Behind a proxy all callers are one network. @default 0
   */
  readonly failuresPerMinute?: number;
  /** The clock for rates. @default the monotonic clock of the process */
  readonly clock?: { now(): number };
}

/**
 * The options of `CallerLimits` and their constraints, for programs that validate their own
 * configuration.
 * @example const known = Object.keys(callerLimitNames);
 */
export const callerLimitNames: OptionNames<CallerLimitsOptions> = {
  requestsPerSecond: 'number',
  burst: 'number',
  concurrentRequests: 'number',
  openStreams: 'number',
  failuresPerMinute: 'number',
  clock: 'object',
};

/**
 * Limits requests and streams per caller. Anonymous callers are distinguished by address.
 * @example const limits = new CallerLimits({ requestsPerSecond: 10, openStreams: 5 });
 */
export class CallerLimits {
  readonly #rate: RateLimiter | undefined;
  readonly #requests: ConcurrencyLimit | undefined;
  readonly #streams: ConcurrencyLimit | undefined;
  readonly #failures: FailureLimit | undefined;

  /** `rate`: a limiter over all replicas, instead of one in this process. */
  constructor(options: CallerLimitsOptions = {}, rate?: RateLimiter) {
    const { requestsPerSecond = 0, burst = requestsPerSecond, failuresPerMinute = 0 } = options;
    const { concurrentRequests = 1_000, openStreams = 1_000 } = options;
    const clock = options.clock === undefined ? {} : { clock: options.clock };
    const buckets = (perSecond: number, most: number): TokenBuckets | undefined =>
      perSecond === 0 ? undefined : new TokenBuckets({ rate: perSecond, burst: most, ...clock });
    this.#rate = rate ?? buckets(requestsPerSecond, burst);
    const failures = buckets(failuresPerMinute / 60, failuresPerMinute);
    this.#failures = failures && new FailureLimit(failures);
    this.#requests = limitOf(concurrentRequests, 'requests in flight');
    this.#streams = limitOf(openStreams, 'open streams');
  }

  /**
   * Authenticates with `work`, unless authentication from this network failed too often recently. The
   * limit applies to all callers of the network.
   */
  authentication(address: string, work: () => Promise<Caller>): Promise<Caller> {
    return this.#failures?.run(networkOf(address), work) ?? work();
  }

  /** Admits one request. Dispose of the permit after the response. */
  request(caller: Caller, address: string): Disposable | Promise<Disposable> {
    const key = limitKey(caller, address);
    const enter = (): Disposable => this.#requests?.enter(key) ?? nothing;
    const taken = this.#rate?.take(key);
    return taken instanceof Promise ? taken.then(enter) : enter();
  }

  /** Admits one stream. Dispose of the permit when the stream closes. */
  stream(caller: Caller, address: string): Disposable {
    return this.#streams?.enter(limitKey(caller, address)) ?? nothing;
  }
}

const nothing: Disposable = { [Symbol.dispose]() {} };

function limitOf(limit: number, what: string): ConcurrencyLimit | undefined {
  return limit === 0 ? undefined : new ConcurrencyLimit({ limit, what });
}

/** Unambiguous for any characters in tenant and subject: no network looks like a JSON list. */
function limitKey({ tenant, subject }: Caller, address: string): string {
  return subject === '' ? networkOf(address) : JSON.stringify([tenant, subject]);
}

/**
 * Limits failed authentications. An attempt holds a token while it is in flight, so that parallel attempts
 * can't fail more often than the limit allows. Only a failure keeps the token. If all tokens are held, further
 * attempts wait for one to be returned: valid credentials are never rejected because of other valid ones.
 */
class FailureLimit {
  readonly #tokens: TokenBuckets;
  readonly #admissions = new KeyedQueue();
  /** Attempts in flight, by key; each resolves when the attempt has ended. */
  readonly #attempts = new Map<string, Set<Promise<void>>>();

  constructor(tokens: TokenBuckets) {
    this.#tokens = tokens;
  }

  async run(key: string, work: () => Promise<Caller>): Promise<Caller> {
    const end = await this.#admissions.run(key, () => this.#admit(key));
    let isFailure = false;
    try {
      return await work();
    } catch (error) {
      isFailure = error instanceof AuthError && error.code === 'UNAUTHENTICATED';
      throw error;
    } finally {
      if (!isFailure) this.#tokens.giveBack(key);
      end();
    }
  }

  /** Takes a token. Returns the function that ends the attempt. */
  async #admit(key: string): Promise<() => void> {
    for (;;) {
      const attempts = this.#attempts.get(key) ?? new Set();
      try {
        this.#tokens.take(key);
      } catch (error) {
        if (attempts.size === 0) throw error;
        await Promise.race(attempts);
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#attempts.set(key, attempts.add(promise));
      return () => {
        attempts.delete(promise);
        if (attempts.size === 0) this.#attempts.delete(key);
        resolve();
      };
    }
  }
}

/** Callers whose rates are in memory (LRU). */
const maxCallers = 100_000;

/** Limits the permits that each caller holds at one time, in this process. */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #what: string;
  readonly #counts = new Map<string, number>();

  /** `what`: what is limited, for the error, such as `open streams`. */
  constructor(options: { readonly limit: number; readonly what: string }) {
    this.#limit = options.limit;
    this.#what = options.what;
  }

  /**
   * Takes a permit and releases it on disposal. Throws `RATE_LIMITED` if the caller holds as many as
   * allowed.
   */
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
        const left = (this.#counts.get(key) ?? 1) - 1;
        if (left === 0) this.#counts.delete(key);
        else this.#counts.set(key, left);
      },
    };
  }
}

/**
 * Limits the request rate of each caller; rejects further requests with `RATE_LIMITED`.
 * @example const limiter: RateLimiter = { take: (key) => counters.take(key) };
 */
interface RateLimiter {
  take(key: string): Promise<void> | void;
}

/**
 * The rate and burst of `TokenBuckets`.
 * @example
 * const options: TokenBucketOptions = { rate: 0.5, burst: 10 }; // ten at once, then one in two seconds
 */
interface TokenBucketOptions {
  /** Requests per second in the long run. */
  readonly rate: number;
  /** Burst size: requests at once after a pause. @default rate, at least 1 */
  readonly burst?: number;
  /** @default the monotonic clock of the process */
  readonly clock?: { now(): number };
  /** Callers with a bucket in memory (LRU). @default 100_000 */
  readonly maxKeys?: number;
}

interface Bucket {
  tokens: number;
  /** Milliseconds of the clock. */
  filledAt: number;
}

/**
 * A token bucket for each caller, in this process: it fills at `rate` up to `burst`, and a request takes
 * one token.
 * @example const buckets = new TokenBuckets({ rate: 10, burst: 20 });
 */
export class TokenBuckets implements RateLimiter {
  readonly #rate: number;
  readonly #burst: number;
  readonly #clock: { now(): number };
  readonly #buckets: LruMap<Bucket>;

  constructor(options: TokenBucketOptions) {
    if (!(options.rate > 0)) {
      throw invalidConfiguration('a rate limit must be above 0');
    }
    this.#rate = options.rate;
    this.#burst = Math.max(options.burst ?? options.rate, 1);
    this.#clock = options.clock ?? { now: () => performance.now() };
    this.#buckets = new LruMap(options.maxKeys ?? maxCallers);
  }

  take(key: string): void {
    const bucket = this.#filled(key);
    if (bucket.tokens < 1) throw limited((1 - bucket.tokens) / this.#rate);
    bucket.tokens -= 1;
  }

  /** Returns a token that was taken. */
  giveBack(key: string): void {
    const bucket = this.#filled(key);
    bucket.tokens = Math.min(bucket.tokens + 1, this.#burst);
  }

  #filled(key: string): Bucket {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(key) ?? { tokens: this.#burst, filledAt: now };
    // A clock that was set back neither adds nor removes tokens.
    const passed = Math.max(now - bucket.filledAt, 0) / 1_000;
    bucket.tokens = Math.min(bucket.tokens + passed * this.#rate, this.#burst);
    bucket.filledAt = now;
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

/**
 * The limit of `ClusterRate`: requests in a window, over all replicas.
 * @example
 * const options: ClusterRateOptions = { records: store.records, limit: 600, batch: 30 };
 * const rate = new ClusterRate(options); // 600 a minute for each caller, thirty with each write
 */
export interface ClusterRateOptions {
  readonly records: RecordStore;
  /** Requests in one window, over all replicas. */
  readonly limit: number;
  /** Length of a window, in milliseconds. @default 60_000 */
  readonly window?: number;
  /**
   * Requests that a replica reserves with one write. Larger batches mean fewer writes, but a replica can
   * leave up to a batch of each window unused. @default 1
   */
  readonly batch?: number;
  /** The clock that the replicas share: `store.clock`. @default the system's clock */
  readonly clock?: { now(): number };
  /**
   * Name of the counters in the store: limits with different names count separately. @default 'requests'
   */
  readonly name?: string;
}

/**
 * The options of `ClusterRate` besides its records, and their constraints.
 * @example const known = Object.keys(clusterRateNames);
 */
export const clusterRateNames: OptionNames<Omit<ClusterRateOptions, 'records'>> = {
  limit: 'number',
  window: 'number',
  batch: 'number',
  clock: 'object',
  name: 'string',
};

/** What a replica has reserved of a caller's limit in one window. */
interface Share {
  /** Requests that are reserved and not yet used. */
  left: number;
  /** Whether the limit has no further requests, so that the store need not be asked again. */
  isLast: boolean;
  /** The write in flight: parallel requests share it. */
  reserving?: Promise<void>;
  /** Requests that wait for it. */
  waiting: number;
}

/**
 * Counts requests by caller and window in the store, for all replicas together. Up to twice the limit can
 * pass around the boundary of two windows.
 * @example const rate = new ClusterRate({ records: store.records, limit: 100, window: 1_000 });
 */
export class ClusterRate implements RateLimiter {
  readonly #options: ClusterRateOptions;
  readonly #window: number;
  readonly #batch: number;
  readonly #clock: { now(): number };
  /** What each caller has left of window `#current`. */
  #shares = new LruMap<Share>(maxCallers);
  #current = -1;

  constructor(options: ClusterRateOptions) {
    if (!(options.limit > 0)) {
      throw invalidConfiguration('a rate limit must be above 0');
    }
    this.#options = options;
    this.#window = options.window ?? 60_000;
    this.#batch = Math.max(1, Math.min(options.batch ?? 1, options.limit));
    this.#clock = options.clock ?? { now: Date.now };
  }

  async take(key: string): Promise<void> {
    for (;;) {
      const now = this.#clock.now();
      const index = Math.floor(now / this.#window);
      if (index !== this.#current) {
        this.#shares = new LruMap(maxCallers);
        this.#current = index;
      }
      const share = this.#shares.getOrMake(key, () => ({ left: 0, isLast: false, waiting: 0 }));
      if (share.left >= 1) {
        share.left -= 1;
        return;
      }
      if (share.isLast) throw limited(((index + 1) * this.#window - now) / 1_000);
      share.waiting += 1;
      share.reserving ??= this.#reserve(key, share, index, now).finally(() => {
        delete share.reserving;
      });
      try {
        await share.reserving;
      } finally {
        share.waiting -= 1;
      }
    }
  }

  /** Reserves a batch in the store, or as much as the waiting requests need. */
  async #reserve(key: string, share: Share, index: number, now: number): Promise<void> {
    const { records, limit, name = 'requests' } = this.#options;
    const by = Math.max(this.#batch, share.waiting);
    const total = await records.increment({
      space: `rate:${name}`,
      key: `${index}:${key}`,
      by,
      // Replicas' estimates of the store's clock differ by at most a round trip. The counter must outlive
      // the window on the slowest of them.
      expiresAt: (index + 2) * this.#window,
      now,
    });
    share.left = Math.min(by, limit - (total - by));
    share.isLast = total >= limit;
  }
}

/**
 * Converts a limit per second to a limit over all replicas: the window is long enough for a burst, and a
 * batch is a twentieth of the limit, so that a replica writes at most about twenty times per window.
 * @example await serve(agent, { clusterRate: overReplicas(50) });
 */
export function overReplicas(
  requestsPerSecond: number,
  burst = requestsPerSecond,
): Pick<ClusterRateOptions, 'limit' | 'window' | 'batch'> {
  const seconds = Math.max(1, Math.max(1, burst) / requestsPerSecond);
  const limit = Math.max(1, Math.floor(requestsPerSecond * seconds));
  const batch = Math.max(1, Math.floor(limit / 20));
  return { limit, window: Math.ceil((limit / requestsPerSecond) * 1_000), batch };
}

function limited(seconds: number): LegateError {
  const retryAfter = Math.max(1, Math.ceil(seconds));
  return new LegateError('RATE_LIMITED', `too many requests; try again in ${retryAfter} s`, {
    retryAfter,
  });
}
