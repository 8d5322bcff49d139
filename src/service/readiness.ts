import { Json, LegateError } from '../protocol/index.ts';
import { smallSkewMs, type Store } from '../store/index.ts';
import type { Scheduler } from '../tasks/index.ts';
import { within } from '../time/index.ts';

/** How long one look at the store is believed, in milliseconds: anybody may ask. */
const believedMs = 1_000;
/** How often a look is a write, in milliseconds: a file system may be read only, and reads would not tell. */
const writeEveryMs = 10_000;
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
 * Something that the process cannot work without, beside the store: says why it is missing, or undefined.
 * @example const broker: Requirement = () => (bus.isConnected ? undefined : 'the broker is away');
 */
export type Requirement = () => string | undefined;

/**
 * Whether requests are welcome: the store answers and takes writes, every requirement is met, and the
 * process does not mean to stop. Once `leave` was called it is not ready for good.
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
      // The store reports its own failures; here only yes and no are asked for.
      return false;
    }
  }
}
