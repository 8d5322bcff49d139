import type { StoreClock } from '../contract.ts';

/** Milliseconds after which a measurement is made again when the clock is read. */
const staleMs = 10_000;

interface Measurement {
  /** What the database's clock is ahead of the monotonic clock of this process. */
  readonly offset: number;
  /** Most milliseconds by which `offset` may be wrong: half of the round trip. */
  readonly error: number;
  /** When it was made, on the monotonic clock. */
  readonly at: number;
}

/**
 * What the clock of the database shows, without asking it each time: measured now and then, and
 * carried on by the monotonic clock of this process in between, so that its wall clock plays no part.
 */
export class DatabaseClock implements StoreClock {
  readonly #ask: () => Promise<number>;
  readonly #means: { readonly monotonic: () => number; readonly wall: () => number };
  #measured: Measurement | undefined;
  #asking: Promise<void> | undefined;

  /** `ask` gives the time of the database. */
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
      // Operations that need the database report its failure; the clock continues.
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

  /** Learns from a call that answers with the time of the database. */
  async around(call: () => Promise<number>): Promise<void> {
    const sent = this.#means.monotonic();
    const time = await call();
    const received = this.#means.monotonic();
    const offset = time - (sent + received) / 2;
    const error = (received - sent) / 2;
    const known = this.#measured;
    // A slow answer says little: it is believed only where it excludes what is known.
    const isExcluded = known === undefined || Math.abs(known.offset - offset) > error + known.error;
    this.#measured =
      isExcluded || error <= known.error
        ? { offset, error, at: received }
        : { ...known, at: received };
  }
}
