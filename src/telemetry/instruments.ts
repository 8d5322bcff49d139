import { type Labels, type Point, Series } from './series.ts';

/** What a metric is called and what it means. */
export interface Description {
  readonly name: string;
  readonly help: string;
  readonly unit?: string;
}

/** How often values fell below each bound, besides their sum and number. */
export interface Distribution {
  /** For each bound the values up to it and above the one before. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** A metric as it is at one moment. */
export type MetricData = Description &
  (
    | { readonly type: 'counter' | 'gauge'; readonly points: readonly Point<number>[] }
    | {
        readonly type: 'histogram';
        readonly bounds: readonly number[];
        readonly points: readonly Point<Distribution>[];
      }
  );

/** Something that is counted, measured or watched; each label set is a series of its own. */
export interface Instrument {
  read(): MetricData;
}

type Tell = (value: number, labels: Labels) => void;
const none: Labels = {};

/** Counts what only grows. */
export class Counter implements Instrument {
  readonly type: 'counter' | 'gauge' = 'counter';
  readonly #description: Description;
  readonly #series = new Series<number>();
  readonly #tell: Tell;

  constructor(description: Description, tell: Tell) {
    this.#description = description;
    this.#tell = tell;
  }

  add(value: number, labels: Labels = none): void {
    this.#series.find(labels, zero).value += value;
    this.#tell(value, labels);
  }

  /** The series of one label set, for places that count often. */
  bind(labels: Labels): (value: number) => void {
    const point = this.#series.find(labels, zero);
    return (value) => {
      point.value += value;
      this.#tell(value, labels);
    };
  }

  read(): MetricData {
    return { ...this.#description, type: this.type, points: this.#series.points };
  }

  protected put(value: number, labels: Labels): void {
    this.#series.find(labels, zero).value = value;
  }
}

/** Counts what goes up and down, or says how much there is. */
export class Gauge extends Counter {
  override readonly type = 'gauge';

  set(value: number, labels: Labels = none): void {
    this.put(value, labels);
  }
}

/** Sorts values into buckets. */
export class Histogram implements Instrument {
  readonly #description: Description;
  readonly #bounds: readonly number[];
  readonly #series = new Series<Distribution>();
  readonly #tell: Tell;

  constructor(description: Description, bounds: readonly number[], tell: Tell) {
    this.#description = description;
    this.#bounds = bounds;
    this.#tell = tell;
  }

  record(value: number, labels: Labels = none): void {
    const distribution = this.#series.find(labels, () => ({
      counts: this.#bounds.map(zero),
      sum: 0,
      count: 0,
    })).value;
    distribution.sum += value;
    distribution.count += 1;
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + 1;
    this.#tell(value, labels);
  }

  read(): MetricData {
    return {
      ...this.#description,
      type: 'histogram',
      bounds: this.#bounds,
      points: this.#series.points,
    };
  }
}

function zero(): number {
  return 0;
}
