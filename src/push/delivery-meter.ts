import type { DeliveryOutcome } from '../store/index.ts';
import { type Counter, type Histogram, type Metrics, metricTable } from '../telemetry/index.ts';

/** Counts and times attempts at webhooks. */
export class DeliveryMeter {
  readonly #attempts: Counter;
  readonly #seconds: Histogram;
  readonly #clock: { now(): number };

  constructor(metrics: Metrics, clock: { now(): number }) {
    const help = (name: keyof typeof metricTable): string => metricTable[name].help;
    this.#attempts = metrics.counter('legate.push.attempts', help('legate.push.attempts'));
    this.#seconds = metrics.histogram('legate.push.duration', help('legate.push.duration'));
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
