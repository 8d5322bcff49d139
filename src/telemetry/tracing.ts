import {
  type Attributes,
  context,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';

export type { Attributes, Span };

export interface SpanOptions {
  /** W3C trace context of whoever asked. @default the active span */
  readonly traceparent?: string | undefined;
  readonly attributes?: Attributes;
  /** @default 'internal' */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** A piece of work in the trace. Does nothing unless an exporter is configured. */
export function startSpan(name: string, options: SpanOptions = {}): Span {
  const { traceparent, attributes, kind = 'internal' } = options;
  const parent = traceparent === undefined ? context.active() : contextOf(traceparent);
  return trace
    .getTracer('legate')
    .startSpan(
      name,
      { kind: kinds[kind], ...(attributes !== undefined && { attributes }) },
      parent,
    );
}

/** Runs work inside a span: what it starts becomes part of the same trace. */
export function inSpan<T>(span: Span, work: () => T): T {
  if (!span.isRecording()) return work();
  return context.with(trace.setSpan(context.active(), span), work);
}

/** Ends a span, as failed when there is an error; the error's text stays out of the trace. */
export function endSpan(span: Span, error?: { readonly code?: string }): void {
  if (error !== undefined) {
    span.setStatus({
      code: SpanStatusCode.ERROR,
      ...(error.code !== undefined && { message: error.code }),
    });
  }
  span.end();
}

/** The W3C `traceparent` to send along; undefined when nothing is being traced. */
export function traceparentOf(span: Span | undefined = trace.getActiveSpan()): string | undefined {
  const spanContext = span?.spanContext();
  if (spanContext === undefined || !isSpanContextValid(spanContext)) return undefined;
  const flags = (spanContext.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  return `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`;
}

const pattern = /^00-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/;

/** What is not a valid `traceparent` begins a trace of its own. */
function contextOf(traceparent: string): Context {
  const { traceId, spanId, flags } = pattern.exec(traceparent)?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  });
}
