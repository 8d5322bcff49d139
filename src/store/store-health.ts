// Named imports, so that fake timers of a test do not block the recovery of a store.
import { clearTimeout, setTimeout } from 'node:timers';
import { Json, LegateError } from '../protocol/index.ts';
import { counter } from '../telemetry/index.ts';
import type { RecordStore } from './sub-stores.ts';

/** A period in which writes to a store fail. */
export interface Outage {
  /** Why the first write failed, without path or address: `/ready` shows it to every client. */
  readonly reason: string;
  readonly error: LegateError;
  readonly failedWrites: number;
  /** When it started, in milliseconds of the monotonic clock (`performance.now()`). */
  readonly since: number;
}

/**
 * Reports the start and the end of an outage.
 * @example
 * const reporter: StoreReporter = {
 *   started: ({ reason }) => pager.alert(reason),
 *   ended: (_, milliseconds) => pager.resolve(milliseconds),
 * };
 */
export interface StoreReporter {
  started(outage: Outage): void;
  ended(outage: Outage, milliseconds: number): void;
}

/** One of several reporters; see `StoreHealth.report`. */
export interface Reporting {
  /** Whether this reporter is the active one. */
  readonly isActive: boolean;
  end(): void;
}

/** Whether a store can be written. */
export interface StoreHealth {
  /** Undefined while writes succeed. */
  readonly outage: Outage | undefined;
  /**
   * Engines of one process can share a store. Only one of them reports: the first that registered, and
   * after its end the next.
   */
  report(reporter: StoreReporter): Reporting;
}

/** Milliseconds of clock skew without a warning. */
export const smallSkewMs = 1_000;

/** Milliseconds between attempts to write while writes fail. */
const probeMs = 1_000;

type After = (milliseconds: number, callback: () => void) => { cancel(): void };

const systemAfter: After = (milliseconds, callback) => {
  const timer = setTimeout(callback, milliseconds).unref();
  return { cancel: () => clearTimeout(timer) };
};

const failures = counter('legate.store.write_failures');

/**
 * - **well**: the last write succeeded, or none was made.
 * - **out**: a write failed. A probe is written every second; the outage is over when one succeeds
 *   and no other write has failed since the previous probe.
 * - **closed**: final; failures no longer count.
 */
export class WriteHealth implements StoreHealth {
  readonly #driver: string;
  readonly #reasonOf: (failure: LegateError) => string;
  readonly #probe: () => Promise<void>;
  readonly #after: After;
  readonly #reporters = new Set<StoreReporter>();
  #outage: Outage | undefined;
  #failuresAtProbe = 0;
  #timer: { cancel(): void } | undefined;
  #isClosed = false;

  /** `probe` writes data that needs disk space, and removes it again. */
  constructor(options: {
    readonly driver: string;
    /** Why writes fail, without path or address. */
    readonly reasonOf: (failure: LegateError) => string;
    readonly probe: () => Promise<void>;
    /** Runs a callback once after the given milliseconds. @default the system's timers */
    readonly after?: After;
  }) {
    this.#after = options.after ?? systemAfter;
    this.#driver = options.driver;
    this.#reasonOf = options.reasonOf;
    this.#probe = options.probe;
  }

  get outage(): Outage | undefined {
    return this.#outage;
  }

  report(reporter: StoreReporter): Reporting {
    // A copy, because two engines can pass the same object.
    const own: StoreReporter = { ...reporter };
    this.#reporters.add(own);
    if (this.#outage !== undefined && this.#reporters.size === 1) own.started(this.#outage);
    const isFirst = (): boolean => this.#reporters.values().next().value === own;
    return {
      get isActive() {
        return isFirst();
      },
      end: () => void this.#reporters.delete(own),
    };
  }

  /** Records a failed write. Only `STORE_FAILED` counts. */
  failed(error: unknown): void {
    if (this.#isClosed || !(error instanceof LegateError) || error.code !== 'STORE_FAILED') return;
    failures.add(1, { driver: this.#driver });
    const before = this.#outage;
    if (before !== undefined) {
      this.#outage = { ...before, failedWrites: before.failedWrites + 1 };
      return;
    }
    const reason = this.#reasonOf(error);
    this.#outage = { reason, error, failedWrites: 1, since: performance.now() };
    for (const reporter of this.#reporters) {
      reporter.started(this.#outage);
      break;
    }
    this.#probeLater();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #probeLater(): void {
    if (this.#isClosed) return;
    this.#timer = this.#after(probeMs, () => void this.#tryAgain());
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#probe();
    } catch {
      // The driver has reported the failure.
      this.#failuresAtProbe = this.#outage?.failedWrites ?? 0;
      this.#probeLater();
      return;
    }
    const { outage } = this;
    if (outage !== undefined && outage.failedWrites > this.#failuresAtProbe) {
      this.#failuresAtProbe = outage.failedWrites;
      this.#probeLater();
      return;
    }
    this.#end();
  }

  #end(): void {
    const outage = this.#outage;
    this.#outage = undefined;
    this.#failuresAtProbe = 0;
    if (outage === undefined) return;
    for (const reporter of this.#reporters) {
      reporter.ended(outage, Math.round(performance.now() - outage.since));
      break;
    }
  }
}

/** Whether the store was unavailable, so that the same operation can succeed later. */
export function isStoreFailure(error: unknown): error is LegateError {
  return error instanceof LegateError && error.code === 'STORE_FAILED';
}

/**
 * The log fields of a failure that belongs to an outage. The store reports the outage once, so each
 * failed operation logs it at level debug only, without a stack. Undefined for any other failure.
 */
export function reportedOutage(
  { health }: { readonly health: StoreHealth },
  error: unknown,
): { readonly reason: string } | undefined {
  const isReported = health.outage !== undefined && isStoreFailure(error);
  return isReported ? { reason: error.message } : undefined;
}

/** The health of a store whose writes never fail. */
export function neverOut(): StoreHealth {
  return new WriteHealth({ driver: 'memory', reasonOf: () => '', probe: async () => {} });
}

/** Characters of a probe: more than a page, so that it needs disk space of its own. */
const probeSize = 16_384;

/** Writes a record that needs disk space, and deletes it. */
export async function probeRecords(records: RecordStore): Promise<void> {
  const place = { space: 'legate', key: `probe-${crypto.randomUUID()}` };
  const now = records.clock.now();
  const value = Json.of('x'.repeat(probeSize));
  await records.write([{ ...place, value, expiresAt: now + probeMs }], now);
  await records.write([place], now);
}
