import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  trace,
} from '@opentelemetry/api';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTraceparent, parseTraceparent, w3cPropagator } from './w3c-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

test.each([
  ['sampled', `00-${traceId}-${spanId}-01`, 1],
  ['not sampled', `00-${traceId}-${spanId}-00`, 0],
  ['with flags of later times', `00-${traceId}-${spanId}-ff`, 1],
  ['of a later version, with more behind it', `cc-${traceId}-${spanId}-01-what-else`, 1],
])('W3C 3.2: a traceparent %s is read', (_, text, traceFlags) => {
  expect(parseTraceparent(text)).toEqual({ traceId, spanId, traceFlags, isRemote: true });
});

test.each([
  ['of version ff', `ff-${traceId}-${spanId}-01`],
  ['of version 00 with more behind it', `00-${traceId}-${spanId}-01-more`],
  ['with a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['with a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['in capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['that is too short', `00-${traceId}-${spanId}`],
  ['without end', `cc-${traceId}-${spanId}-01-${'x'.repeat(10_000)}`],
  ['with a line break in it', `00-${traceId}-${spanId}-01\n`],
])('W3C 3.2: a traceparent %s is none', (_, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test('whatever is sent as a traceparent, what is read from it can be written again', () => {
  const hex = (length: number) =>
    fc.string({
      unit: fc.constantFrom(...'0123456789abcdef'.split('')),
      minLength: length,
      maxLength: length,
    });
  const likely = fc
    .tuple(hex(2), hex(32), hex(16), hex(2), fc.string({ maxLength: 5 }))
    .map(([version, trace, span, flags, more]) => `${version}-${trace}-${span}-${flags}${more}`);
  fc.assert(
    fc.property(fc.oneof(likely, fc.string()), (text) => {
      const parsed = parseTraceparent(text);
      if (parsed === undefined) return;
      expect(parseTraceparent(formatTraceparent(parsed))).toEqual(parsed);
    }),
  );
});

test('W3C 3.3: tracestate goes along, unless it is endless', () => {
  const carry = (tracestate: string): Record<string, string> => {
    const incoming = { traceparent: `00-${traceId}-${spanId}-01`, tracestate };
    const context = w3cPropagator.extract(ROOT_CONTEXT, incoming, defaultTextMapGetter);
    const outgoing: Record<string, string> = {};
    w3cPropagator.inject(context, outgoing, defaultTextMapSetter);
    return outgoing;
  };
  expect(carry('congo=t61rcWkgMzE')).toEqual({
    traceparent: `00-${traceId}-${spanId}-01`,
    tracestate: 'congo=t61rcWkgMzE',
  });
  expect(carry(`a=${'x'.repeat(1_000)}`)).toEqual({ traceparent: `00-${traceId}-${spanId}-01` });
});

test('what is no trace is not carried', () => {
  const context = w3cPropagator.extract(ROOT_CONTEXT, { traceparent: 'x' }, defaultTextMapGetter);
  expect(trace.getSpanContext(context)).toBeUndefined();
  const outgoing = {};
  w3cPropagator.inject(context, outgoing, defaultTextMapSetter);
  expect(outgoing).toEqual({});
});
