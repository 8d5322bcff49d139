import {
  type Context,
  createTraceState,
  isSpanContextValid,
  type SpanContext,
  type TextMapPropagator,
  trace,
  TraceFlags,
} from '@opentelemetry/api';

const pattern =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<more>-.*)?$/;
const longestState = 512;

/**
 * The context that a W3C `traceparent` stands for; undefined for what is none. Of versions to come the
 * first four fields are read, as W3C asks.
 */
export function parseTraceparent(text: string): SpanContext | undefined {
  if (text.length > 256) return undefined;
  const { version, traceId, spanId, flags, more } = pattern.exec(text)?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const parsed: SpanContext = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}

/** The same with its `tracestate`, of which only what is valid is kept. */
export function parseTraceContext(
  traceparent: string,
  tracestate: string | undefined,
): SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  if (parsed === undefined || tracestate === undefined) return parsed;
  if (tracestate.length > longestState) return parsed;
  return { ...parsed, traceState: createTraceState(tracestate) };
}

/** A `tracestate` that may be sent on: without what is not valid; undefined when nothing is left. */
export function cleanTracestate(text: string): string | undefined {
  if (text.length > longestState) return undefined;
  const state = createTraceState(text).serialize();
  return state === '' ? undefined : state;
}

/** As a `traceparent` is written. */
export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  return `00-${traceId}-${spanId}-${flags}`;
}

/** Carries the trace in `traceparent` and `tracestate`. */
export const w3cPropagator: TextMapPropagator = {
  inject(context: Context, carrier, setter) {
    const span = trace.getSpanContext(context);
    if (span === undefined || !isSpanContextValid(span)) return;
    setter.set(carrier, 'traceparent', formatTraceparent(span));
    const state = span.traceState?.serialize();
    if (state !== undefined && state !== '') setter.set(carrier, 'tracestate', state);
  },
  extract(context: Context, carrier, getter) {
    const parent = getter.get(carrier, 'traceparent');
    const text = Array.isArray(parent) ? parent[0] : parent;
    if (text === undefined) return context;
    const given = getter.get(carrier, 'tracestate');
    const parsed = parseTraceContext(text, Array.isArray(given) ? given.join(',') : given);
    return parsed === undefined ? context : trace.setSpanContext(context, parsed);
  },
  fields: () => ['traceparent', 'tracestate'],
};
