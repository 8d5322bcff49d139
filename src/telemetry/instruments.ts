import {
  type Attributes,
  type Counter,
  type Histogram,
  type Meter,
  type MeterProvider,
  type MetricOptions,
  metrics,
  type Observable,
  type ObservableCallback,
  type UpDownCounter,
} from '@opentelemetry/api';
import { LegateError } from '../protocol/index.ts';
import { within } from '../time/index.ts';
import { type MetricName, metricTable } from './metric-table.ts';

/** Upper bounds of a histogram's buckets, by unit. */
const boundaries: Readonly<Record<string, number[]>> = {
  s: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600],
  ms: [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 600_000],
  '': [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000],
};

/**
 * A counter of the metric table. It records to the meter provider that is registered at the time of the
 * call, so it can be created before telemetry starts. Without a provider it does nothing.
 * @example
 * const calls = counter('legate.tool.calls');
 * calls.add(1, { tool: 'search', outcome: 'ok' });
 */
export function counter(name: MetricName): Pick<Counter, 'add'> {
  const current = late((meter) => meter.createCounter(name, optionsOf(name)));
  return { add: (value, attributes?: Attributes) => current().add(value, attributes) };
}

/** As `counter`, for a value that goes up and down. */
export function upDownCounter(name: MetricName): Pick<UpDownCounter, 'add'> {
  const current = late((meter) => meter.createUpDownCounter(name, optionsOf(name)));
  return { add: (value, attributes?: Attributes) => current().add(value, attributes) };
}

/** As `counter`, for a distribution. */
export function histogram(name: MetricName): Pick<Histogram, 'record'> {
  const current = late((meter) => meter.createHistogram(name, optionsOf(name)));
  return { record: (value, attributes?: Attributes) => current().record(value, attributes) };
}

/** Observations of this process. They outlive a meter provider and are registered with the next one. */
const observations = new Set<Observation>();

interface Observation {
  readonly register: () => () => void;
  unregister: () => void;
}

/** Time limit of an observation, in milliseconds: a hanging store or broker must not block `/metrics`. */
const observationMs = 2_000;

/** Observes a gauge whenever metrics are collected. Returns a function that stops it. */
export function observeGauge(name: MetricName, callback: ObservableCallback): () => void {
  return observe(name, callback, (meter) => meter.createObservableGauge(name, optionsOf(name)));
}

/** As `observeGauge`, for a total that only grows. */
export function observeCounter(name: MetricName, callback: ObservableCallback): () => void {
  return observe(name, callback, (meter) => meter.createObservableCounter(name, optionsOf(name)));
}

/** Registers all observations with the meter provider that has just been set. */
export function registerObservations(): void {
  for (const observation of observations) observation.unregister = observation.register();
}

function observe(
  name: MetricName,
  callback: ObservableCallback,
  make: (meter: Meter) => Observable,
): () => void {
  const late = () =>
    new LegateError('UNAVAILABLE', `${name} could not be observed in ${observationMs / 1_000} s`);
  const inTime: ObservableCallback = (result) => {
    const observed = callback(result);
    if (!(observed instanceof Promise)) return undefined;
    return within({ milliseconds: observationMs, reason: late }, () => observed);
  };
  const register = (): (() => void) => {
    const instrument = make(metrics.getMeter('legate'));
    instrument.addCallback(inTime);
    return () => instrument.removeCallback(inTime);
  };
  const observation: Observation = { register, unregister: register() };
  observations.add(observation);
  return () => {
    observations.delete(observation);
    observation.unregister();
  };
}

function optionsOf(name: MetricName): MetricOptions {
  const entry = metricTable[name];
  const { help: description, type } = entry;
  const unit = 'unit' in entry ? entry.unit : undefined;
  const explicitBucketBoundaries = type === 'histogram' ? boundaries[unit ?? ''] : undefined;
  return {
    description,
    ...(unit !== undefined && { unit }),
    ...(explicitBucketBoundaries !== undefined && { advice: { explicitBucketBoundaries } }),
  };
}

/** Creates an instrument again for each new provider: the OpenTelemetry API has no proxy for meters. */
function late<T>(make: (meter: Meter) => T): () => T {
  let known: { readonly provider: MeterProvider; readonly made: T } | undefined;
  return () => {
    const provider = metrics.getMeterProvider();
    if (known?.provider !== provider) known = { provider, made: make(provider.getMeter('legate')) };
    return known.made;
  };
}
