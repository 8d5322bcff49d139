import type { Attributes } from '@opentelemetry/api';
import type { MetricData } from '../instruments.ts';
import type { SpanData } from '../recorded-span.ts';

/** Who tells: name and version of the service, and whatever else is true of all of it. */
export type Resource = Readonly<Record<string, string>>;

const scope = { name: 'legate' };

/** The body of `POST /v1/traces`: OTLP in its JSON form. */
export function encodeSpans(resource: Resource, spans: readonly SpanData[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope, spans: spans.map(encodeSpan) }],
      },
    ],
  });
}

/** The body of `POST /v1/metrics`. `startedAt`, `now`: milliseconds since 1970. */
export function encodeMetrics(
  resource: Resource,
  metrics: readonly MetricData[],
  startedAt: number,
  now: number,
): string {
  const times = { startTimeUnixNano: nanos(startedAt), timeUnixNano: nanos(now) };
  return JSON.stringify({
    resourceMetrics: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeMetrics: [
          {
            scope,
            metrics: metrics
              .filter(({ points }) => points.length > 0)
              .map((metric) => encodeMetric(metric, times)),
          },
        ],
      },
    ],
  });
}

function encodeSpan(span: SpanData): object {
  const { context, parentSpanId, name, kind, startedAt, endedAt, attributes, events, status } =
    span;
  const traceState = context.traceState?.serialize();
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(traceState !== undefined && traceState !== '' && { traceState }),
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    // OTLP counts kinds from one.
    kind: kind + 1,
    startTimeUnixNano: nanos(startedAt),
    endTimeUnixNano: nanos(endedAt),
    attributes: encodeAttributes(attributes),
    ...(events.length > 0 && {
      events: events.map((event) => ({
        name: event.name,
        timeUnixNano: nanos(event.at),
        attributes: encodeAttributes(event.attributes),
      })),
    }),
    status: { code: status.code, ...(status.message !== undefined && { message: status.message }) },
  };
}

/** Sums since the process began. */
const cumulative = 2;

function encodeMetric(metric: MetricData, times: object): object {
  const { name, help, unit } = metric;
  const head = { name, description: help, ...(unit !== undefined && { unit }) };
  if (metric.type === 'histogram') {
    const dataPoints = metric.points.map(({ labels, value }) => {
      const inBounds = value.counts.reduce((sum, count) => sum + count, 0);
      return {
        attributes: encodeAttributes(labels),
        ...times,
        count: String(value.count),
        sum: value.sum,
        bucketCounts: [...value.counts, value.count - inBounds].map(String),
        explicitBounds: metric.bounds,
      };
    });
    return { ...head, histogram: { dataPoints, aggregationTemporality: cumulative } };
  }
  const dataPoints = metric.points.map(({ labels, value }) => ({
    attributes: encodeAttributes(labels),
    ...times,
    asDouble: value,
  }));
  return metric.type === 'gauge'
    ? { ...head, gauge: { dataPoints } }
    : { ...head, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } };
}

function encodeAttributes(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: encodeValue(value) }],
  );
}

function encodeValue(value: unknown): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') {
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(encodeValue) } };
  return { stringValue: String(value) };
}

/** 64 bits do not fit a number of JSON, so they are written as a text. */
function nanos(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
}
