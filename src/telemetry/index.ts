export { defaultLogger } from './default-logger.ts';
export { type Logger, silentLogger } from './logger.ts';
export { createLogger, type LoggerOptions, loggerSettings, safeLogger } from './create-logger.ts';
export { LogSummary } from './log-summary.ts';
export { inLogScope } from './log-scope.ts';
export { prettyLine } from './pretty-line.ts';
export { redact } from './redact.ts';
export { counter, histogram, observeGauge, upDownCounter } from './instruments.ts';
export { metricTable } from './metric-table.ts';
export { prometheusName, prometheusType } from './prometheus-name.ts';
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
export { telemetryOptionsOf } from './from-settings.ts';
export {
  type OtlpOptions,
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
} from './telemetry.ts';
