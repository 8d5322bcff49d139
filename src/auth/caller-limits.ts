import type { Caller } from '../agents/index.ts';
import { networkOf } from '../net/index.ts';
import { AuthError } from './auth-error.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { FailureLimit } from './failure-limit.ts';
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
  /** Replaces the limit of this process, for example by one over all replicas. */
  readonly rateLimiter?: RateLimiter;
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
  readonly #failures: FailureLimit | undefined;

  constructor(options: CallerLimitsOptions = {}) {
    const { requestsPerSecond = 0, burst, clock } = options;
    const { concurrentRequests = 1_000, openStreams = 1_000 } = options;
    const buckets =
      requestsPerSecond === 0
        ? undefined
        : new TokenBuckets({
            rate: requestsPerSecond,
            ...(burst !== undefined && { burst }),
            ...(clock !== undefined && { clock }),
          });
    this.#rate = options.rateLimiter ?? buckets;
    this.#requests = limitOf(concurrentRequests, 'requests under way');
    this.#streams = limitOf(openStreams, 'open streams');
    const { failuresPerMinute: perMinute = 0 } = options;
    this.#failures =
      perMinute === 0
        ? undefined
        : new FailureLimit({ perMinute, ...(clock !== undefined && { clock }) });
  }

  /** Authenticates by `work`, unless the network has failed too often of late. */
  async authentication(address: string, work: () => Promise<Caller>): Promise<Caller> {
    if (this.#failures === undefined) return work();
    const from = networkOf(address);
    this.#failures.check(from);
    try {
      return await work();
    } catch (error) {
      if (error instanceof AuthError && error.code === 'UNAUTHENTICATED') this.#failures.note(from);
      throw error;
    }
  }

  /** Admits one request; dispose of the place when it has been answered. */
  request(caller: Caller, address: string): Disposable | Promise<Disposable> {
    const key = limitKey(caller, address);
    const enter = (): Disposable => this.#requests?.enter(key) ?? nothing;
    const taken = this.#rate?.take(key);
    return taken instanceof Promise ? taken.then(enter) : enter();
  }

  /** Admits one stream; dispose of the place when it closes. */
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
