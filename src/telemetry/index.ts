export {
  createLogger,
  defaultLogger,
  inLogScope,
  type Logger,
  loggerOption,
  type LoggerOptions,
  silentLogger,
} from './logger.ts';
export { LogSummary } from './log-summary.ts';
export { hideSecrets, redact } from './redact.ts';
export { counter, histogram, observeGauge, upDownCounter } from './instruments.ts';
export { metricTable, prometheusName, prometheusType } from './metric-table.ts';
export {
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
export { traced } from './traced.ts';
export {
  type OtlpOptions,
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
  telemetryOptions,
  telemetryOptionsOf,
} from './telemetry.ts';
