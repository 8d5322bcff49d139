import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import type { MetricReader, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { withUnit } from './prometheus-name.ts';

/** Collects the metrics of a provider as text for Prometheus; opens no port of its own. */
export class PrometheusText {
  readonly reader: MetricReader = new PrometheusExporter({ preventServerStart: true });
  readonly #serializer = new PrometheusSerializer(undefined, false, undefined, true, true);

  async render(): Promise<string> {
    const { resourceMetrics } = await this.reader.collect();
    return `${this.#serializer.serialize(unitsInNames(resourceMetrics)).trimEnd()}\n`;
  }
}

/** The serializer writes the unit as a comment; Prometheus wants it in the name. */
function unitsInNames(collected: ResourceMetrics): ResourceMetrics {
  return {
    ...collected,
    scopeMetrics: collected.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) => ({
        ...metric,
        descriptor: {
          ...metric.descriptor,
          name: withUnit(metric.descriptor.name, metric.descriptor.unit),
          unit: '',
        },
      })),
    })),
  };
}
