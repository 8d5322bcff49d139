import type { StoreClock } from '../contract.ts';

/** Age in milliseconds from which reading the clock starts a new measurement. */
const staleMs = 10_000;

interface Measurement {
  /** How far the database's clock is ahead of the monotonic clock of this process. */
  readonly offset: number;
  /** Maximum error of `offset`, in milliseconds: half of the round trip. */
  readonly error: number;
  /** The time of the measurement, on the monotonic clock. */
  readonly at: number;
}

/**
 * Estimates the clock of the database without a query for each read. The clock is measured
 * periodically; between measurements it follows the monotonic clock of this process, never the wall
 * clock.
 */
export class DatabaseClock implements StoreClock {
  readonly #ask: () => Promise<number>;
  readonly #means: { readonly monotonic: () => number; readonly wall: () => number };
  #measured: Measurement | undefined;
  #asking: Promise<void> | undefined;

  /** `ask` queries the time of the database. */
  constructor(
    ask: () => Promise<number>,
    means = { monotonic: () => performance.now(), wall: () => Date.now() },
  ) {
    this.#ask = ask;
    this.#means = means;
  }

  now(): number {
    const { monotonic, wall } = this.#means;
    if (this.#measured === undefined) return wall();
    const at = monotonic();
    if (at - this.#measured.at > staleMs) {
      // Operations that need the database report its failures. The clock continues.
      this.measure().catch(() => {});
    }
    return Math.floor(at + this.#measured.offset);
  }

  skewMs(): number {
    if (this.#measured === undefined) return 0;
    const difference = this.#means.wall() - (this.#means.monotonic() + this.#measured.offset);
    const beyondError = Math.max(0, Math.abs(difference) - this.#measured.error);
    return Math.round(Math.sign(difference) * beyondError);
  }

  measure(): Promise<void> {
    this.#asking ??= this.around(this.#ask).then(
      () => void (this.#asking = undefined),
      (error: unknown) => {
        this.#asking = undefined;
        throw error;
      },
    );
    return this.#asking;
  }

  /** Measures the clock by a call that returns the time of the database. */
  async around(call: () => Promise<number>): Promise<void> {
    const sent = this.#means.monotonic();
    const time = await call();
    const received = this.#means.monotonic();
    const offset = time - (sent + received) / 2;
    const error = (received - sent) / 2;
    const known = this.#measured;
    // A slow response is imprecise: it replaces the known offset only if it contradicts that.
    const isExcluded = known === undefined || Math.abs(known.offset - offset) > error + known.error;
    this.#measured =
      isExcluded || error <= known.error
        ? { offset, error, at: received }
        : { ...known, at: received };
  }
}
