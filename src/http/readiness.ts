import { LegateError } from '../protocol/index.ts';
import type { Store } from '../store/index.ts';
import type { Scheduler } from '../tasks/index.ts';

/** How long one look at the store is believed, in milliseconds: anybody may ask. */
const believedMs = 1_000;
/** A store that takes longer to answer is not ready, in milliseconds. */
const patienceMs = 2_000;

/**
 * Whether requests are welcome: the store answers, and the process does not mean to stop. It is ready
 * or not by the store's answer, and once `leave` was called not ready for good.
 */
export class Readiness {
  readonly #store: Pick<Store, 'records'>;
  readonly #scheduler: Scheduler;
  #isLeaving = false;
  #known: { readonly until: number; readonly isReady: Promise<boolean> } | undefined;

  constructor(store: Pick<Store, 'records'>, scheduler: Scheduler) {
    this.#store = store;
    this.#scheduler = scheduler;
  }

  leave(): void {
    this.#isLeaving = true;
  }

  check(): Promise<boolean> {
    if (this.#isLeaving) return Promise.resolve(false);
    const now = this.#scheduler.now();
    if (this.#known === undefined || this.#known.until <= now) {
      this.#known = { until: now + believedMs, isReady: this.#ask(now) };
    }
    return this.#known.isReady.then((isReady) => isReady && !this.#isLeaving);
  }

  async #ask(now: number): Promise<boolean> {
    const patience = Promise.withResolvers<never>();
    const timer = this.#scheduler.after(patienceMs, () =>
      patience.reject(new LegateError('STORE_FAILED', 'the store does not answer')),
    );
    try {
      await Promise.race([this.#store.records.get('legate', 'readiness', now), patience.promise]);
      return true;
    } catch {
      // The store reports its own failures; here only yes and no are asked for.
      return false;
    } finally {
      timer.cancel();
    }
  }
}
