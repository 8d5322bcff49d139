import { describe, expect, test } from 'vitest';
import { JsonRpcRequestError, parseJsonRpcRequest } from './json-rpc.ts';

const request = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 't' } };

function refusal(value: unknown): JsonRpcRequestError {
  try {
    parseJsonRpcRequest(value);
  } catch (error) {
    if (error instanceof JsonRpcRequestError) return error;
    throw error;
  }
  throw new Error('accepted');
}

describe('requests (JSON-RPC 2.0 §4)', () => {
  test.each([1, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, 'a', '', null, 'x'.repeat(256)])(
    'the id %j is kept',
    (id) => {
      expect(parseJsonRpcRequest({ ...request, id })).toEqual({
        id,
        method: 'GetTask',
        params: { id: 't' },
      });
    },
  );

  test('a notification is read as one, and its method and params are checked', () => {
    const { id: _, ...notification } = request;
    expect(parseJsonRpcRequest(notification).id).toBeUndefined();
    expect(refusal({ ...notification, params: [] })).toMatchObject({ code: 'INVALID_PARAMS' });
    expect(refusal({ jsonrpc: '2.0' })).toMatchObject({ code: 'INVALID_REQUEST', id: null });
  });

  test.each([undefined, null])('params may be %j', (params) => {
    expect(parseJsonRpcRequest({ ...request, params }).params).toEqual({});
  });

  test.each([
    ['a batch', [request]],
    ['an empty batch', []],
    ['no object', 'x'],
    ['null', null],
    ['an object as id', { ...request, id: {} }],
    ['an array as id', { ...request, id: [] }],
    ['true as id', { ...request, id: true }],
    ['a number as id that is read as infinite', { ...request, id: JSON.parse('1e400') }],
    [
      'a number as id that is read as another',
      { ...request, id: JSON.parse('12345678901234567891') },
    ],
    ['an id of 257 characters', { ...request, id: 'x'.repeat(257) }],
  ])('%s is refused, and answered to null', (_, value) => {
    expect(refusal(value)).toMatchObject({ code: 'INVALID_REQUEST', id: null });
  });

  test.each([
    ['no jsonrpc', { id: 7, method: 'GetTask' }],
    ['jsonrpc 1.0', { ...request, id: 7, jsonrpc: '1.0' }],
    ['jsonrpc as a number', { ...request, id: 7, jsonrpc: 2 }],
    ['no method', { jsonrpc: '2.0', id: 7 }],
    ['a method that is not a string', { ...request, id: 7, method: 5 }],
    ['an empty method', { ...request, id: 7, method: '' }],
  ])('%s is refused, and answered to its id', (_, value) => {
    expect(refusal(value)).toMatchObject({ code: 'INVALID_REQUEST', id: 7 });
  });

  test.each([[], [1], 'x', 5, true])('params %j are invalid params', (params) => {
    expect(refusal({ ...request, params })).toMatchObject({
      code: 'INVALID_PARAMS',
      id: 1,
      violations: [{ field: 'params', description: 'must be an object' }],
    });
  });
});
