import { Counter, Gauge, Histogram, type Instrument, type MetricData } from './instruments.ts';
import { type CountingMeter, lateMeter } from './late-instruments.ts';
import { renderMetric } from './prometheus.ts';
import type { Labels } from './series.ts';

export interface MetricOptions {
  /** `s`, `ms`, `By`; part of the name for Prometheus. */
  readonly unit?: string;
}

/** Upper bounds of a histogram's buckets, by its unit; seconds for all others. */
const bounds: Readonly<Record<string, readonly number[]>> = {
  s: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600],
  ms: [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 600_000],
};
/** Metrics that one process may have; whatever asks for more gets one that nobody sees. */
const maxMetrics = 1_000;

/** Tells the value of a gauge when somebody looks. */
export type Observation = (observe: (value: number, labels?: Labels) => void) => unknown;

/**
 * The measurements of one process: kept here for Prometheus and OTLP, and told to OpenTelemetry, which
 * drops them unless the program has an SDK.
 * @example
 * const turns = metrics.counter('legate.turns', 'Turns that ended');
 * turns.add(1, { state: 'completed' });
 */
export class Metrics {
  readonly #instruments = new Map<string, Instrument>();
  readonly #observations = new Map<Observation, Gauge>();
  readonly #meter: CountingMeter;

  /** @param meter whom else to tell; by default the OpenTelemetry SDK of the program, if it has one */
  constructor(meter: CountingMeter = lateMeter) {
    this.#meter = meter;
  }

  /** Something that only grows. */
  counter(name: string, help: string, options: MetricOptions = {}): Counter {
    return this.#add(name, () => {
      const told = this.#meter.createCounter(name, { description: help, ...options });
      return new Counter({ name, help, ...options }, (value, labels) => told.add(value, labels));
    });
  }

  /** Something that goes up and down by steps. */
  gauge(name: string, help: string, options: MetricOptions = {}): Gauge {
    return this.#add(name, () => {
      const told = this.#meter.createUpDownCounter(name, { description: help, ...options });
      return new Gauge({ name, help, ...options }, (value, labels) => told.add(value, labels));
    });
  }

  /** A distribution; of durations in seconds unless it has another unit. */
  histogram(name: string, help: string, { unit = 's' }: MetricOptions = {}): Histogram {
    return this.#add(name, () => {
      const told = this.#meter.createHistogram(name, { description: help, unit });
      return new Histogram(
        { name, help, unit },
        bounds[unit] ?? bounds['s'] ?? [],
        (value, labels) => told.record(value, labels),
      );
    });
  }

  /** A gauge whose value is asked for when somebody looks. Gives a function that ends the asking. */
  observe(
    name: string,
    help: string,
    observation: Observation,
    options?: MetricOptions,
  ): () => void {
    const gauge = this.#add(name, () => new Gauge({ name, help, ...options }, () => undefined));
    this.#observations.set(observation, gauge);
    return () => void this.#observations.delete(observation);
  }

  /** Everything as it is now, observed gauges included. One that fails keeps its last value. */
  async collect(): Promise<readonly MetricData[]> {
    await Promise.allSettled(
      Array.from(this.#observations, async ([observation, gauge]) =>
        observation((value, labels) => gauge.set(value, labels)),
      ),
    );
    return this.#read();
  }

  /** Everything in the text format of Prometheus; observed gauges as of the last `collect`. */
  render(): string {
    const lines = this.#read().flatMap((metric) => renderMetric(metric));
    return `${lines.join('\n')}\n`;
  }

  #read(): readonly MetricData[] {
    return Array.from(this.#instruments.values(), (instrument) => instrument.read());
  }

  #add<T extends Instrument>(name: string, make: () => T): T {
    const known = this.#instruments.get(name);
    if (known !== undefined) return known as T;
    const made = make();
    if (this.#instruments.size < maxMetrics) this.#instruments.set(name, made);
    return made;
  }
}
