import {
  type Attributes,
  type BatchObservableCallback,
  createNoopMeter,
  type Meter,
  type MeterProvider,
  type Observable,
  type ObservableCallback,
} from '@opentelemetry/api';
import type { Metrics, Observation } from './metrics.ts';
import type { Labels } from './series.ts';

/** Lets whoever counts by OpenTelemetry count into our metrics, other libraries included. */
export function meterProvider(metrics: Metrics): MeterProvider {
  const meter = meterOf(metrics);
  return { getMeter: () => meter };
}

/** Told nobody else: otherwise everything would be counted twice. */
export const toldNobody: Meter = createNoopMeter();

function meterOf(metrics: Metrics): Meter {
  const observable = (name: string, help: string, unit: { unit?: string }): Observable => {
    const known = new Map<ObservableCallback, () => void>();
    return {
      addCallback(callback) {
        const observation: Observation = (observe) =>
          callback({ observe: (value, attributes) => observe(value, labelsOf(attributes)) });
        known.set(callback, metrics.observe(name, help, observation, unit));
      },
      removeCallback(callback) {
        known.get(callback)?.();
        known.delete(callback);
      },
    };
  };
  return {
    createCounter(name, options) {
      const counter = metrics.counter(name, options?.description ?? name, unitOf(options));
      return { add: (value, attributes) => counter.add(value, labelsOf(attributes)) };
    },
    createUpDownCounter(name, options) {
      const gauge = metrics.gauge(name, options?.description ?? name, unitOf(options));
      return { add: (value, attributes) => gauge.add(value, labelsOf(attributes)) };
    },
    createGauge(name, options) {
      const gauge = metrics.gauge(name, options?.description ?? name, unitOf(options));
      return { record: (value, attributes) => gauge.set(value, labelsOf(attributes)) };
    },
    createHistogram(name, options) {
      const histogram = metrics.histogram(name, options?.description ?? name, unitOf(options));
      return { record: (value, attributes) => histogram.record(value, labelsOf(attributes)) };
    },
    createObservableGauge: (name, options) =>
      observable(name, options?.description ?? name, unitOf(options)),
    createObservableCounter: (name, options) =>
      observable(name, options?.description ?? name, unitOf(options)),
    createObservableUpDownCounter: (name, options) =>
      observable(name, options?.description ?? name, unitOf(options)),
    addBatchObservableCallback(_callback: BatchObservableCallback) {
      // Nobody here observes several instruments at once.
    },
    removeBatchObservableCallback() {},
  };
}

function unitOf(options: { readonly unit?: string } | undefined): { unit?: string } {
  const { unit } = options ?? {};
  return unit === undefined || unit === '' ? {} : { unit };
}

function labelsOf(attributes: Attributes = {}): Labels {
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null)
      labels[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return labels;
}
