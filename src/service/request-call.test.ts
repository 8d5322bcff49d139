import { expect, test } from 'vitest';
import { anonymous } from '../tasks/index.ts';
import { callOf } from './request-call.ts';

const source = { caller: anonymous, version: '1.0', isLocal: () => true } as const;

test('a call has what the headers of its request say', () => {
  const headers = {
    'idempotency-key': 'k',
    'last-event-id': '7',
    traceparent: '00-a-b-01',
    tracestate: 'vendor=1',
    'a2a-extensions': 'https://example.com/a, https://example.com/b',
  };
  expect(callOf(headers, source)).toEqual({
    ...source,
    idempotencyKey: 'k',
    lastEventId: 7,
    traceparent: '00-a-b-01',
    tracestate: 'vendor=1',
    extensions: ['https://example.com/a', 'https://example.com/b'],
  });
});

test('headers that say nothing leave nothing behind', () => {
  const headers = { 'last-event-id': 'x', tracestate: 'vendor=1' };
  expect(callOf(headers, source)).toEqual({ ...source, extensions: [] });
});

test('a call has no accessors: those of literals keep their request alive', () => {
  const { signal } = new AbortController();
  const fields = Object.values(Object.getOwnPropertyDescriptors(callOf({}, { ...source, signal })));
  expect(fields.filter((field) => 'get' in field)).toEqual([]);
});
