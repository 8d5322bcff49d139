import {
  type Attributes,
  type Counter,
  type Histogram,
  type Meter,
  type MeterProvider,
  type MetricOptions,
  metrics,
  type UpDownCounter,
} from '@opentelemetry/api';
import { type MetricName, metricTable } from './metric-table.ts';

/** What of a meter is used here. */
export type CountingMeter = {
  readonly createCounter: (name: string, options?: MetricOptions) => Pick<Counter, 'add'>;
  readonly createUpDownCounter: (
    name: string,
    options?: MetricOptions,
  ) => Pick<UpDownCounter, 'add'>;
  readonly createHistogram: (name: string, options?: MetricOptions) => Pick<Histogram, 'record'>;
};

/**
 * Makes instruments of whichever OpenTelemetry provider the program has when they are used: what
 * counts may be made before the provider is. Without one they cost a comparison and say nothing.
 */
export const lateMeter: CountingMeter = {
  createCounter(name, options) {
    const current = late((meter) => meter.createCounter(name, options));
    return { add: (value, attributes?: Attributes) => current().add(value, attributes) };
  },
  createUpDownCounter(name, options) {
    const current = late((meter) => meter.createUpDownCounter(name, options));
    return { add: (value, attributes?: Attributes) => current().add(value, attributes) };
  },
  createHistogram(name, options) {
    const current = late((meter) => meter.createHistogram(name, options));
    return { record: (value, attributes?: Attributes) => current().record(value, attributes) };
  },
};

/**
 * A counter of the table of metrics, for whichever provider there is when it is used.
 * @example
 * const calls = lateCounter('legate.tool.calls');
 * calls.add(1, { tool: 'search', outcome: 'ok' });
 */
export function lateCounter(name: MetricName): Pick<Counter, 'add'> {
  return lateMeter.createCounter(name, optionsOf(name));
}

/** As `lateCounter`, for what goes up and down. */
export function lateGauge(name: MetricName): Pick<UpDownCounter, 'add'> {
  return lateMeter.createUpDownCounter(name, optionsOf(name));
}

/** As `lateCounter`, for distributions. */
export function lateHistogram(name: MetricName): Pick<Histogram, 'record'> {
  return lateMeter.createHistogram(name, optionsOf(name));
}

function optionsOf(name: MetricName): MetricOptions {
  const { help: description, ...rest } = metricTable[name];
  return { description, ...('unit' in rest && { unit: rest.unit }) };
}

function late<T>(make: (meter: Meter) => T): () => T {
  let known: { readonly provider: MeterProvider; readonly made: T } | undefined;
  return () => {
    const provider = metrics.getMeterProvider();
    if (known?.provider !== provider) known = { provider, made: make(provider.getMeter('legate')) };
    return known.made;
  };
}
