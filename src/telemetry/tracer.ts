import {
  type Context,
  context as contexts,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  trace,
  TraceFlags,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import { RecordedSpan, type SpanData } from './recorded-span.ts';

export interface TracerOptions {
  /** Of traces that begin here, the share that is recorded; others follow whoever began them. */
  readonly sampleRatio: number;
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number;
  /** Of a number of bytes, in hexadecimal. */
  readonly randomId: (bytes: number) => string;
  readonly onEnd: (span: SpanData) => void;
}

/** Makes spans that are told to `onEnd` when they end. */
export function tracerProvider(options: TracerOptions): TracerProvider {
  const startSpan = (name: string, given: SpanOptions = {}, at?: Context): Span => {
    const around = at ?? contexts.active();
    const parent = given.root === true ? undefined : validParent(around);
    const traceId = parent?.traceId ?? options.randomId(16);
    const isSampled =
      parent === undefined
        ? isInSample(traceId, options.sampleRatio)
        : (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
    const context: SpanContext = {
      traceId,
      spanId: options.randomId(8),
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      ...(parent?.traceState !== undefined && { traceState: parent.traceState }),
    };
    if (!isSampled) return trace.wrapSpanContext(context);
    return new RecordedSpan({
      context,
      parentSpanId: parent?.spanId,
      name,
      kind: given.kind ?? SpanKind.INTERNAL,
      attributes: given.attributes ?? {},
      now: options.now,
      onEnd: options.onEnd,
    });
  };
  const tracer: Tracer = {
    startSpan,
    startActiveSpan<F extends (span: Span) => unknown>(
      name: string,
      ...rest: readonly unknown[]
    ): ReturnType<F> {
      const work = rest.at(-1) as F;
      const given = (rest.length > 1 ? rest[0] : {}) as SpanOptions;
      const around = (rest.length > 2 ? rest[1] : contexts.active()) as Context;
      const span = startSpan(name, given, around);
      return contexts.with(trace.setSpan(around, span), () => work(span) as ReturnType<F>);
    },
  };
  return { getTracer: () => tracer };
}

function validParent(around: Context): SpanContext | undefined {
  const parent = trace.getSpanContext(around);
  return parent !== undefined && trace.isSpanContextValid(parent) ? parent : undefined;
}

/** The same for every process that sees the trace. */
function isInSample(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  return Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32;
}
