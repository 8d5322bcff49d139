export { type Logger, silentLogger } from './logger.ts';
export { createLogger, type LoggerOptions } from './create-logger.ts';
export { Counter, Histogram, type Labels, Metrics } from './metrics.ts';
export {
  type Attributes,
  endSpan,
  inSpan,
  type Span,
  type SpanOptions,
  startSpan,
  traceparentOf,
} from './tracing.ts';
