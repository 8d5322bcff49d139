import type { DeliveryOutcome } from '../store/index.ts';
import { counter, histogram } from '../telemetry/index.ts';

/** Counts and times attempts at webhooks. */
export class DeliveryMeter {
  readonly #attempts = counter('legate.push.attempts');
  readonly #seconds = histogram('legate.push.duration');
  readonly #clock: { now(): number };

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  /** An attempt that was broken off, and has no outcome, does not count. */
  async measure(
    attempt: () => Promise<DeliveryOutcome | undefined>,
  ): Promise<DeliveryOutcome | undefined> {
    const begun = this.#clock.now();
    const outcome = await attempt();
    if (outcome !== undefined) {
      const labels = { outcome: outcome.kind };
      this.#attempts.add(1, labels);
      this.#seconds.record((this.#clock.now() - begun) / 1000, labels);
    }
    return outcome;
  }
}
