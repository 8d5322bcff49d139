import { metrics as openTelemetry } from '@opentelemetry/api';

export type Labels = Readonly<Record<string, string>>;

/** Something that is counted, measured or watched; each label set is a series of its own. */
interface Instrument {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  render(): readonly string[];
}

/** Label sets that one metric may have; beyond them a series `other` takes the rest. */
const maxSeries = 1_000;
/** Upper bounds of a histogram's buckets, in seconds. */
const secondsBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600];

/**
 * The measurements of one process: kept here for Prometheus (`render`), and told to OpenTelemetry,
 * which drops them unless an exporter is configured.
 * @example
 * const turns = metrics.counter('legate_turns_total', 'Turns that ended');
 * turns.add(1, { state: 'completed' });
 */
export class Metrics {
  readonly #instruments = new Map<string, Instrument>();
  readonly #meter = openTelemetry.getMeter('legate');

  counter(name: string, help: string): Counter {
    return this.#add(
      name,
      () => new Counter(name, help, 'counter', this.#meter.createCounter(name)),
    );
  }

  gauge(name: string, help: string): Counter {
    return this.#add(
      name,
      () => new Counter(name, help, 'gauge', this.#meter.createUpDownCounter(name)),
    );
  }

  /** Of durations, in seconds. */
  histogram(name: string, help: string): Histogram {
    return this.#add(name, () => new Histogram(name, help, this.#meter.createHistogram(name)));
  }

  /** Everything in the text format of Prometheus. */
  render(): string {
    const lines = [...this.#instruments.values()].flatMap((instrument) => [
      `# HELP ${instrument.name} ${instrument.help}`,
      `# TYPE ${instrument.name} ${instrument.type}`,
      ...instrument.render(),
    ]);
    return `${lines.join('\n')}\n`;
  }

  #add<T extends Instrument>(name: string, make: () => T): T {
    const known = this.#instruments.get(name);
    if (known !== undefined) return known as T;
    const made = make();
    this.#instruments.set(name, made);
    return made;
  }
}

/** Series by their rendered labels, bounded in number. */
class Series<T> {
  readonly values = new Map<string, T>();

  find(labels: Labels, initial: () => T): [string, T] {
    const wanted = renderLabels(labels);
    const key = this.values.has(wanted) || this.values.size < maxSeries ? wanted : '{other="true"}';
    let value = this.values.get(key);
    if (value === undefined) this.values.set(key, (value = initial()));
    return [key, value];
  }
}

export class Counter implements Instrument {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly #series = new Series<number>();
  readonly #exported: { add(value: number, attributes?: Labels): void };

  constructor(
    name: string,
    help: string,
    type: 'counter' | 'gauge',
    exported: { add(value: number, attributes?: Labels): void },
  ) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.#exported = exported;
  }

  add(value: number, labels: Labels = {}): void {
    const [key, before] = this.#series.find(labels, () => 0);
    this.#series.values.set(key, before + value);
    this.#exported.add(value, labels);
  }

  /** The series of one label set, for places that count often. */
  bind(labels: Labels): (value: number) => void {
    const [key] = this.#series.find(labels, () => 0);
    const { values } = this.#series;
    return (value) => {
      values.set(key, (values.get(key) ?? 0) + value);
      this.#exported.add(value, labels);
    };
  }

  render(): readonly string[] {
    return [...this.#series.values].map(([labels, value]) => `${this.name}${labels} ${value}`);
  }
}

interface Distribution {
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Histogram implements Instrument {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #series = new Series<Distribution>();
  readonly #exported: { record(value: number, attributes?: Labels): void };

  constructor(
    name: string,
    help: string,
    exported: { record(value: number, attributes?: Labels): void },
  ) {
    this.name = name;
    this.help = help;
    this.#exported = exported;
  }

  record(value: number, labels: Labels = {}): void {
    const [, distribution] = this.#series.find(labels, () => ({
      counts: secondsBuckets.map(() => 0),
      sum: 0,
      count: 0,
    }));
    distribution.sum += value;
    distribution.count += 1;
    const bucket = secondsBuckets.findIndex((bound) => value <= bound);
    if (bucket >= 0) distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + 1;
    this.#exported.record(value, labels);
  }

  render(): readonly string[] {
    return [...this.#series.values].flatMap(([labels, { counts, sum, count }]) => {
      let total = 0;
      const buckets = secondsBuckets.map((bound, index) => {
        total += counts[index] ?? 0;
        return `${this.name}_bucket${withLabel(labels, 'le', String(bound))} ${total}`;
      });
      return [
        ...buckets,
        `${this.name}_bucket${withLabel(labels, 'le', '+Inf')} ${count}`,
        `${this.name}_sum${labels} ${sum}`,
        `${this.name}_count${labels} ${count}`,
      ];
    });
  }
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${quote(value)}`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function withLabel(labels: string, name: string, value: string): string {
  const pair = `${name}=${quote(value)}`;
  return labels === '' ? `{${pair}}` : `${labels.slice(0, -1)},${pair}}`;
}

function quote(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
