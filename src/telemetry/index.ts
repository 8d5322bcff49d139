export { defaultLogger } from './default-logger.ts';
export { type Logger, silentLogger } from './logger.ts';
export {
  createLogger,
  type LoggerOptions,
  loggerSettings,
  type LogLevel,
  safeLogger,
} from './create-logger.ts';
export { LogSummary } from './log-summary.ts';
export { inLogScope, type LogFields } from './log-scope.ts';
export { prettyLine } from './pretty-line.ts';
export { hideSecrets, redact } from './redact.ts';
export { counter, histogram, observeCounter, observeGauge, upDownCounter } from './instruments.ts';
export { type MetricName, metricTable } from './metric-table.ts';
export { prometheusName, prometheusType } from './prometheus-name.ts';
export {
  type Attributes,
  cleanTracestate,
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
export { telemetryOptionsOf } from './from-settings.ts';
export {
  type OtlpOptions,
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
} from './telemetry.ts';
