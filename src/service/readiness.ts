import { LegateError } from '../protocol/index.ts';
import { smallSkewMs, type Store } from '../store/index.ts';
import type { Scheduler } from '../tasks/index.ts';

/** How long one look at the store is believed, in milliseconds: anybody may ask. */
const believedMs = 1_000;
/** A store that takes longer to answer is not ready, in milliseconds. */
const timeoutMs = 2_000;
const leaving = 'the server is about to stop';

/** What `/ready` says. */
export interface ReadyReport {
  readonly isReady: boolean;
  /** Why not. */
  readonly reason?: string;
  /** How far the wall clock is ahead of the store's, in milliseconds; given when it is wrong. */
  readonly clockSkewMs?: number;
}

/**
 * Whether requests are welcome: the store answers and takes writes, and the process does not mean to
 * stop. It is ready or not by the store's answer, and once `leave` was called not ready for good.
 */
export class Readiness {
  readonly #store: Pick<Store, 'records' | 'health' | 'clock'>;
  readonly #scheduler: Scheduler;
  #isLeaving = false;
  #known: { readonly until: number; readonly doesAnswer: Promise<boolean> } | undefined;

  constructor(store: Pick<Store, 'records' | 'health' | 'clock'>, scheduler: Scheduler) {
    this.#store = store;
    this.#scheduler = scheduler;
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
      : (outage?.reason ?? (doesAnswer ? undefined : 'the store does not answer'));
    return reason === undefined
      ? { isReady: true, ...details }
      : { isReady: false, reason, ...details };
  }

  async #ask(now: number): Promise<boolean> {
    const expired = Promise.withResolvers<never>();
    const timer = this.#scheduler.after(timeoutMs, () =>
      expired.reject(new LegateError('STORE_FAILED', 'the store does not answer')),
    );
    try {
      await Promise.race([this.#store.records.get('legate', 'readiness', now), expired.promise]);
      return true;
    } catch {
      // The store reports its own failures; here only yes and no are asked for.
      return false;
    } finally {
      timer.cancel();
    }
  }
}
