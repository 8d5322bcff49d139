export { type Logger, silentLogger } from './logger.ts';
export {
  createLogger,
  type LoggerOptions,
  loggerSettings,
  type LogLevel,
  safeLogger,
} from './create-logger.ts';
export { inLogScope, type LogFields } from './log-scope.ts';
export { prettyLine } from './pretty-line.ts';
export { hideSecrets, redact } from './redact.ts';
export { Counter, Gauge, Histogram, type MetricData } from './instruments.ts';
export { type MetricOptions, Metrics, type Observation } from './metrics.ts';
export type { Labels } from './series.ts';
export { type MetricName, metricTable } from './metric-table.ts';
export { lateCounter, lateGauge, lateHistogram } from './late-instruments.ts';
export { prometheusName, prometheusType } from './prometheus.ts';
export {
  type Attributes,
  endSpan,
  inSpan,
  isTraced,
  type Span,
  type SpanOptions,
  startSpan,
  tracedFetch,
  traceHeaders,
  traceparentOf,
} from './tracing.ts';
export { cleanTracestate } from './w3c-context.ts';
export { telemetryOptionsOf } from './from-settings.ts';
export type { OtlpOptions } from './otlp/index.ts';
export { startTelemetry, type Telemetry, type TelemetryOptions } from './telemetry.ts';
