import {
  type Attributes,
  context,
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

export type { Attributes, Span };

export interface SpanOptions {
  /** W3C trace context of the caller. @default the active span */
  readonly traceparent?: string | undefined;
  /** The W3C `tracestate` of the caller. */
  readonly tracestate?: string | undefined;
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

/** Starts a span. Does nothing unless an exporter is configured. */
export function startSpan(name: string, options: SpanOptions = {}): Span {
  const { traceparent, tracestate, attributes, kind = 'internal' } = options;
  const parent = traceparent === undefined ? context.active() : contextOf(traceparent, tracestate);
  return trace
    .getTracer('legate')
    .startSpan(
      name,
      { kind: kinds[kind], ...(attributes !== undefined && { attributes }) },
      parent,
    );
}

/** Runs work inside a span: spans that it starts are children of it. */
export function inSpan<T>(span: Span, work: () => T): T {
  if (!isTraced(span)) return work();
  return context.with(trace.setSpan(context.active(), span), work);
}

/** Whether a span belongs to a trace, sampled or not. */
export function isTraced(span: Span): boolean {
  return span.isRecording() || isSpanContextValid(span.spanContext());
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

/** The W3C `traceparent` to send; undefined without a trace. */
export function traceparentOf(span: Span | undefined = trace.getActiveSpan()): string | undefined {
  return headersOf(span)['traceparent'];
}

/**
 * The HTTP headers that propagate the active trace; none without a trace.
 * @example await fetch(url, { headers: { ...traceHeaders(), accept: 'application/json' } });
 */
export function traceHeaders(): Readonly<Record<string, string>> {
  return headersOf(trace.getActiveSpan());
}

function headersOf(span: Span | undefined): Readonly<Record<string, string>> {
  const carrier: Record<string, string> = {};
  if (span !== undefined) propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  return carrier;
}

/** A `fetch` that adds the headers of the active trace to its requests. */
export function tracedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return (input, init) => {
    const carried = Object.entries(traceHeaders());
    if (carried.length === 0) return fetch(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    for (const [name, value] of carried) headers.set(name, value);
    return fetch(input, { ...init, headers });
  };
}

/** An invalid `traceparent` starts a trace of its own. */
function contextOf(traceparent: string, tracestate: string | undefined): Context {
  const state = tracestate === undefined ? undefined : cleanTracestate(tracestate);
  return propagation.extract(ROOT_CONTEXT, {
    traceparent,
    ...(state !== undefined && { tracestate: state }),
  });
}

/** Longest `tracestate` that is propagated, in characters: the limit of W3C. */
const maxTracestate = 512;

/** The valid entries of a `tracestate`; undefined when there are none. */
export function cleanTracestate(text: string): string | undefined {
  if (text.length > maxTracestate) return undefined;
  const state = createTraceState(text).serialize();
  return state === '' ? undefined : state;
}
