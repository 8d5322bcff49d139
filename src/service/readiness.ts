import { Json, LegateError } from '../protocol/index.ts';
import { smallSkewMs, type Store } from '../store/index.ts';
import type { Scheduler } from '../tasks/index.ts';
import { within } from '../time/index.ts';

/** How long the result of a store check is reused, in milliseconds: `/ready` is not authenticated. */
const believedMs = 1_000;
/** How often a check writes, in milliseconds: reads can't detect a read-only file system. */
const writeEveryMs = 10_000;
/** A store that takes longer to answer is not ready, in milliseconds. */
const timeoutMs = 2_000;
const leaving = 'the server is shutting down';

/** The result of `/ready`. */
export interface ReadyReport {
  readonly isReady: boolean;
  /** Why the process is not ready. */
  readonly reason?: string;
  /** How far the wall clock is ahead of the store's, in milliseconds; only set for a large skew. */
  readonly clockSkewMs?: number;
}

/**
 * A service that the process requires besides the store. Returns why it is unavailable, or undefined.
 * @example const broker: Requirement = () => (bus.isConnected ? undefined : 'no connection to the broker');
 */
export type Requirement = () => string | undefined;

/**
 * Whether the process is ready for requests: the store answers and accepts writes, every requirement is
 * met, and the process is not about to stop. After `leave` it never becomes ready again.
 */
export class Readiness {
  readonly #store: Pick<Store, 'records' | 'health' | 'clock'>;
  readonly #scheduler: Scheduler;
  readonly #requirements: readonly Requirement[];
  #writtenAt = -Infinity;
  #isLeaving = false;
  #known: { readonly until: number; readonly doesAnswer: Promise<boolean> } | undefined;

  constructor(
    store: Pick<Store, 'records' | 'health' | 'clock'>,
    scheduler: Scheduler,
    requirements: readonly Requirement[] = [],
  ) {
    this.#store = store;
    this.#scheduler = scheduler;
    this.#requirements = requirements;
  }

  leave(): void {
    this.#isLeaving = true;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  async check(): Promise<ReadyReport> {
    if (this.#isLeaving) return { isReady: false, reason: leaving };
    const now = this.#scheduler.now();
    if (this.#known === undefined || this.#known.until <= now) {
      this.#known = { until: now + believedMs, doesAnswer: this.#ask(now) };
    }
    const doesAnswer = await this.#known.doesAnswer;
    const skewMs = this.#store.clock.skewMs();
    const details = Math.abs(skewMs) > smallSkewMs ? { clockSkewMs: skewMs } : {};
    const { outage } = this.#store.health;
    const reason = this.#isLeaving
      ? leaving
      : (outage?.reason ?? (doesAnswer ? this.#missing() : 'the store does not answer'));
    return reason === undefined
      ? { isReady: true, ...details }
      : { isReady: false, reason, ...details };
  }

  #missing(): string | undefined {
    for (const requirement of this.#requirements) {
      const reason = requirement();
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  async #look(now: number): Promise<void> {
    const place = { space: 'legate', key: 'readiness' };
    if (now - this.#writtenAt < writeEveryMs) {
      await this.#store.records.get(place.space, place.key, now);
      return;
    }
    const written = { ...place, value: Json.of(now), expiresAt: now + writeEveryMs };
    await this.#store.records.write([written], now);
    this.#writtenAt = now;
  }

  async #ask(now: number): Promise<boolean> {
    const limit = {
      milliseconds: timeoutMs,
      reason: () => new LegateError('STORE_FAILED', 'the store does not answer'),
      timers: this.#scheduler,
    };
    try {
      await within(limit, () => this.#look(now));
      return true;
    } catch {
      // The store reports its own failures.
      return false;
    }
  }
}
