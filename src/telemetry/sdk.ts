/**
 * The OpenTelemetry SDK of a process, loaded only when telemetry is configured. It registers the globals of
 * the OpenTelemetry API that no other SDK has registered.
 */
import {
  type Attributes,
  context,
  diag,
  DiagLogLevel,
  metrics,
  propagation,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  type ExportResult,
  ExportResultCode,
  setGlobalErrorHandler,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  type MetricReader,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { errorMessage } from '../protocol/index.ts';
import { counter } from './instruments.ts';
import type { Logger } from './logger.ts';
import { withUnit } from './metric-table.ts';
import { hideSecrets } from './redact.ts';
import type { OtlpOptions, TelemetryOptions } from './telemetry.ts';

export interface Sdk {
  /** Metrics as text for Prometheus; undefined if another SDK collects them. */
  readonly prometheus: PrometheusText | undefined;
  flush(): Promise<void>;
  /** Exports the rest. */
  shutdown(): Promise<void>;
  /** Makes room for another SDK. */
  unregister(): void;
}

const dropped = counter('legate.telemetry.dropped');

/** Most attribute sets of one metric; the rest is counted as `otel_metric_overflow`. */
const maxSeries = 1_000;

/** Handles the result of an export. */
type OnResult = (result: ExportResult) => void;

export function startSdk(options: TelemetryOptions, logger: Logger): Sdk {
  const { otlp, serviceName = 'legate', resource = {} } = options;
  const shared = { resource: resourceFromAttributes({ 'service.name': serviceName, ...resource }) };
  reportProblems(logger);
  const onResult = outageLog(logger, otlp?.endpoint);
  const prometheus = new PrometheusText(logger);
  const readers = [prometheus.reader, ...metricReaders(otlp, onResult)];
  const views = [{ instrumentName: '*', aggregationCardinalityLimit: maxSeries }];
  const meters = new MeterProvider({ ...shared, readers, views });
  const isOurs = metrics.setGlobalMeterProvider(meters);
  if (!isOurs) logger.info({}, 'telemetry.another_sdk');
  const tracing =
    otlp === undefined || otlp.traces === false
      ? undefined
      : startTracing(options.sampleRatio ?? 1, otlp, shared, onResult);
  return {
    prometheus: isOurs ? prometheus : undefined,
    async flush() {
      await Promise.allSettled([tracing?.provider.forceFlush(), meters.forceFlush()]);
    },
    async shutdown() {
      for (const unregister of tracing?.unregister ?? []) unregister();
      // Spans first, so that the last export of metrics contains the number of lost spans.
      await Promise.allSettled([tracing?.provider.shutdown()]);
      await Promise.allSettled([meters.shutdown()]);
    },
    unregister() {
      if (isOurs) metrics.disable();
      diag.disable();
    },
  };
}

function metricReaders(otlp: OtlpOptions | undefined, onResult: OnResult): MetricReader[] {
  if (otlp === undefined || otlp.metrics === false) return [];
  const { metricsIntervalMs = 60_000, timeoutMs = 10_000 } = otlp;
  const exporter = new OTLPMetricExporter(exporterOptions(otlp, '/v1/metrics'));
  return [
    new PeriodicExportingMetricReader({
      exporter: observed(exporter, (batch) => batch, onResult),
      exportIntervalMillis: metricsIntervalMs,
      exportTimeoutMillis: Math.min(timeoutMs, metricsIntervalMs),
    }),
  ];
}

function startTracing(
  sampleRatio: number,
  otlp: OtlpOptions,
  shared: Pick<ConstructorParameters<typeof MeterProvider>[0] & object, 'resource'>,
  onResult: OnResult,
): { readonly provider: TracerProvider; readonly unregister: readonly (() => void)[] } {
  const { batchSize = 512, batchDelayMs = 5_000, maxQueue = 2_048, timeoutMs = 10_000 } = otlp;
  const exporter = new OTLPTraceExporter(exporterOptions(otlp, '/v1/traces'));
  const provider = new TracerProvider({
    ...shared,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanLimits: {
      attributeCountLimit: 64,
      eventCountLimit: 32,
      attributeValueLengthLimit: 1_024,
    },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: observed(
          exporter,
          (spans) => spans.map(redacted),
          (result, spans) => {
            const isLost = result.code === ExportResultCode.FAILED;
            if (isLost) dropped.add(spans.length, { reason: 'not_delivered' });
            onResult(result);
          },
        ),
        maxExportBatchSize: Math.min(batchSize, maxQueue),
        scheduledDelayMillis: batchDelayMs,
        maxQueueSize: maxQueue,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  });
  const contexts = new AsyncLocalStorageContextManager();
  const propagator = new W3CTraceContextPropagator();
  const unregister: (() => void)[] = [];
  if (trace.setGlobalTracerProvider(provider)) unregister.push(() => trace.disable());
  if (context.setGlobalContextManager(contexts)) unregister.push(() => context.disable());
  if (propagation.setGlobalPropagator(propagator)) unregister.push(() => propagation.disable());
  return { provider, unregister };
}

function exporterOptions(otlp: OtlpOptions, path: string) {
  const { endpoint, headers = {}, timeoutMs = 10_000 } = otlp;
  return {
    url: `${endpoint.replace(/\/+$/, '')}${path}`,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
  };
}

interface Exporter<Batch> {
  export(batch: Batch, done: OnResult): void;
}

/** Wraps an exporter: prepares its batches and observes its results. */
function observed<Batch, E extends Exporter<Batch>>(
  exporter: E & Exporter<Batch>,
  prepare: (batch: Batch) => Batch,
  onResult: (result: ExportResult, batch: Batch) => void,
): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (batch: Batch, done: OnResult) =>
    send(prepare(batch), (result) => {
      onResult(result, batch);
      done(result);
    });
  return exporter;
}

/** The same span without secrets. */
function redacted(span: ReadableSpan): ReadableSpan {
  const attributes = redactedAll(span.attributes);
  const events = span.events.map((event) => ({
    ...event,
    ...(event.attributes !== undefined && { attributes: redactedAll(event.attributes) }),
  }));
  // A view: the fields of a span are getters on its prototype.
  const view: ReadableSpan = Object.create(span, {
    attributes: { value: attributes, enumerable: true },
    events: { value: events, enumerable: true },
  });
  return view;
}

function redactedAll(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      typeof value === 'string' ? hideSecrets(value) : value,
    ]),
  );
}

/** Collects the metrics of a provider as text for Prometheus; opens no port of its own. */
class PrometheusText {
  readonly reader: MetricReader = new PrometheusExporter({ preventServerStart: true });
  readonly #serializer = new PrometheusSerializer(undefined, false, undefined, true, true);

  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  async render(): Promise<string> {
    const { resourceMetrics, errors } = await this.reader.collect();
    for (const error of errors) {
      this.#logger.warn({ problem: errorMessage(error) }, 'telemetry.sdk.warning');
    }
    return `${this.#serializer.serialize(unitsInNames(resourceMetrics)).trimEnd()}\n`;
  }
}

/** Adds units to metric names, as Prometheus expects. The serializer writes them as comments only. */
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

/** Logs the errors and warnings that the SDK reports to `diag`, such as dropped spans. */
function reportProblems(logger: Logger): void {
  const warn = (problem: string): void => logger.warn({ problem }, 'telemetry.sdk.warning');
  const ignore = (): void => undefined;
  const reporter = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  // Failed exports end up here too; the outage log reports them once.
  setGlobalErrorHandler(ignore);
  diag.setLogger(reporter, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** Logs the first failed export of an outage, and the first successful one after it. */
function outageLog(logger: Logger, endpoint: string | undefined): OnResult {
  let isReachable = true;
  return ({ code, error }) => {
    const isSent = code === ExportResultCode.SUCCESS;
    if (isSent === isReachable) return;
    isReachable = isSent;
    if (isSent) logger.info({ endpoint }, 'telemetry.export.recovered');
    else logger.warn({ endpoint, failure: error?.message }, 'telemetry.export.failed');
  };
}
