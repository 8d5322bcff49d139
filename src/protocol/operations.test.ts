import { expect, test } from 'vitest';
import { type Operation, operationOf, operations } from './operations.ts';

const names = Object.keys(operations) as Operation[];

test('sending with a stream and subscribing stream, and nothing else does', () => {
  expect(names.filter((name) => operations[name].streams)).toEqual([
    'sendStreamingMessage',
    'subscribeToTask',
  ]);
});

test.each(names)('%s is found by its method in both versions', (operation) => {
  const { v1, v03 } = operations[operation];
  expect(operationOf(v1)).toEqual({ operation, version: '1.0' });
  expect(operationOf(v03)).toEqual({ operation, version: '0.3' });
});

test.each(['toString', '__proto__', '', 'sendMessage', 'message/Send'])(
  'the method "%s" names no operation',
  (method) => {
    expect(operationOf(method)).toBeUndefined();
  },
);
