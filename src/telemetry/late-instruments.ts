import {
  type Attributes,
  type Counter,
  type Histogram,
  type MeterProvider,
  metrics,
  type UpDownCounter,
} from '@opentelemetry/api';
import { type MetricName, metricTable } from './metric-table.ts';

/**
 * Instruments of whichever OpenTelemetry provider the program has when they are used: what counts may
 * be made before the provider is. Without one they cost a comparison and say nothing.
 * @example
 * const calls = lateCounter('legate.tool.calls');
 * calls.add(1, { tool: 'search', outcome: 'ok' });
 */
export function lateCounter(name: MetricName): Pick<Counter, 'add'> {
  const current = late((provider) => provider.getMeter('legate').createCounter(name, of(name)));
  return { add: (value, attributes?: Attributes) => current().add(value, attributes) };
}

/** As `lateCounter`, for what goes up and down. */
export function lateGauge(name: MetricName): Pick<UpDownCounter, 'add'> {
  const current = late((provider) =>
    provider.getMeter('legate').createUpDownCounter(name, of(name)),
  );
  return { add: (value, attributes?: Attributes) => current().add(value, attributes) };
}

/** As `lateCounter`, for distributions. */
export function lateHistogram(name: MetricName): Pick<Histogram, 'record'> {
  const current = late((provider) => provider.getMeter('legate').createHistogram(name, of(name)));
  return { record: (value, attributes?: Attributes) => current().record(value, attributes) };
}

function of(name: MetricName): { readonly description: string; readonly unit?: string } {
  const { help: description, ...rest } = metricTable[name];
  return { description, ...('unit' in rest && { unit: rest.unit }) };
}

function late<T>(make: (provider: MeterProvider) => T): () => T {
  let known: { readonly provider: MeterProvider; readonly made: T } | undefined;
  return () => {
    const provider = metrics.getMeterProvider();
    if (known?.provider !== provider) known = { provider, made: make(provider) };
    return known.made;
  };
}
