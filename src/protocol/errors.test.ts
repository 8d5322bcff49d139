import { describe, expect, test } from 'vitest';
import { errorDetails, statusOf } from './error-details.ts';
import { type ErrorCode, errorTable, invalidParams, LegateError, taskNotFound } from './errors.ts';
import { fromJsonRpcError, toJsonRpcError } from './json-rpc.ts';
import { fromRestError, toRestError } from './rest-error.ts';

/** Specification 1.0.1 §5.4, with what 1.0.0 had: [JSON-RPC, HTTP, gRPC, HTTP 1.0.0, gRPC 1.0.0]. */
const specification: [ErrorCode, number, number, string, number, string][] = [
  ['TASK_NOT_FOUND', -32001, 404, 'NOT_FOUND', 404, 'NOT_FOUND'],
  ['TASK_NOT_CANCELABLE', -32002, 400, 'FAILED_PRECONDITION', 409, 'FAILED_PRECONDITION'],
  ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003, 400, 'FAILED_PRECONDITION', 400, 'UNIMPLEMENTED'],
  ['UNSUPPORTED_OPERATION', -32004, 400, 'FAILED_PRECONDITION', 400, 'UNIMPLEMENTED'],
  ['CONTENT_TYPE_NOT_SUPPORTED', -32005, 400, 'INVALID_ARGUMENT', 415, 'INVALID_ARGUMENT'],
  ['INVALID_AGENT_RESPONSE', -32006, 500, 'INTERNAL', 502, 'INTERNAL'],
  [
    'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    ...([-32007, 400, 'FAILED_PRECONDITION', 400, 'FAILED_PRECONDITION'] as const),
  ],
  [
    'EXTENSION_SUPPORT_REQUIRED',
    ...([-32008, 400, 'FAILED_PRECONDITION', 400, 'FAILED_PRECONDITION'] as const),
  ],
  ['VERSION_NOT_SUPPORTED', -32009, 400, 'FAILED_PRECONDITION', 400, 'UNIMPLEMENTED'],
  ['PARSE_ERROR', -32700, 400, 'INVALID_ARGUMENT', 400, 'INVALID_ARGUMENT'],
  ['INVALID_REQUEST', -32600, 400, 'INVALID_ARGUMENT', 400, 'INVALID_ARGUMENT'],
  ['METHOD_NOT_FOUND', -32601, 404, 'UNIMPLEMENTED', 404, 'UNIMPLEMENTED'],
  ['INVALID_PARAMS', -32602, 400, 'INVALID_ARGUMENT', 400, 'INVALID_ARGUMENT'],
  ['INTERNAL', -32603, 500, 'INTERNAL', 500, 'INTERNAL'],
];

const codes = Object.keys(errorTable) as ErrorCode[];
const neverOnAWire = new Set<ErrorCode>([
  ...(['INTERNAL', 'CONFIGURATION_INVALID', 'STORE_FAILED', 'STORE_VERSION'] as const),
  ...(['PEER_UNREACHABLE', 'PEER_INVALID'] as const),
]);

test.each(specification)(
  '%s has the numbers of the specification, in both profiles (§5.4)',
  (code, jsonRpc, http, grpc, formerHttp, formerGrpc) => {
    expect(toJsonRpcError(new LegateError(code, 'm')).code).toBe(jsonRpc);
    expect(statusOf(code)).toEqual({ http, grpc });
    expect(statusOf(code, '1.0.1')).toEqual({ http, grpc });
    expect(statusOf(code, '1.0.0')).toEqual({ http: formerHttp, grpc: formerGrpc });
  },
);

describe.each(codes)('%s', (code) => {
  const error = new LegateError(code, 'what happened', { metadata: { thing: 'x' } });
  const isHidden = neverOnAWire.has(code);
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: code,
    domain: 'a2a-protocol.org',
    ...(!isHidden && { metadata: { thing: 'x' } }),
  };

  test('is a JSON-RPC error with an ErrorInfo (§9.5), and is known again', () => {
    const wire = toJsonRpcError(error);
    expect(wire).toEqual({
      code: errorTable[code].jsonRpc,
      message: isHidden ? wire.message : 'what happened',
      data: [info],
    });
    expect(fromJsonRpcError(JSON.parse(JSON.stringify(wire)))).toMatchObject({
      code,
      message: wire.message,
      ...(!isHidden && { metadata: { thing: 'x' } }),
    });
  });

  test.each(['1.0.1', '1.0.0'] as const)(
    'is an AIP-193 body (§11.6) in profile %s, and is known again',
    (profile) => {
      const { status, body } = toRestError(error, { profile });
      const { http, grpc } = statusOf(code, profile);
      expect(status).toBe(http);
      expect(body).toEqual({
        error: {
          code: http,
          status: grpc,
          message: isHidden ? expect.any(String) : 'what happened',
          details: [info],
        },
      });
      expect(fromRestError(status, JSON.parse(JSON.stringify(body)))).toMatchObject({ code });
    },
  );

  test('is a bare error object over 0.3 REST, and is known again', () => {
    const { status, body } = toRestError(error, { version: '0.3' });
    expect(body).toEqual(toJsonRpcError(error));
    expect(fromRestError(status, body)).toMatchObject({ code });
  });

  test(`${isHidden ? 'hides' : 'shows'} its text`, () => {
    expect(JSON.stringify(toJsonRpcError(error)).includes('what happened')).toBe(!isHidden);
    expect(JSON.stringify(toRestError(error)).includes('what happened')).toBe(!isHidden);
  });
});

test('what we did not throw ourselves is internal, and says nothing of its cause', () => {
  for (const thrown of [new Error('secret'), 'secret', { secret: 1 }, undefined, null]) {
    const wire = JSON.stringify([toJsonRpcError(thrown), toRestError(thrown)]);
    expect(wire).not.toContain('secret');
    expect(toJsonRpcError(thrown)).toMatchObject({ code: -32603, message: 'Internal error' });
  }
});

test('field violations stand in a BadRequest, and come back', () => {
  const error = invalidParams(
    { field: 'message.parts', description: 'is required' },
    { field: 'message.role', description: 'is required' },
  );
  expect(error.message).toBe('message.parts: is required (and 1 more)');
  expect(errorDetails(error)[1]).toEqual({
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    fieldViolations: error.violations,
  });
  expect(fromJsonRpcError(toJsonRpcError(error)).violations).toEqual(error.violations);
  const { status, body } = toRestError(error);
  expect(fromRestError(status, body).violations).toEqual(error.violations);
});

test('the retry delay is encoded as RetryInfo, and decoded again', () => {
  const error = new LegateError('RATE_LIMITED', 'slow down', { retryAfter: 2.5 });
  expect(errorDetails(error)[1]).toEqual({
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: '2.5s',
  });
  expect(fromJsonRpcError(toJsonRpcError(error)).retryAfter).toBe(2.5);
});

describe('errors of JSON-RPC peers', () => {
  test.each([
    [{ code: -32001, message: 'Task not found' }, 'TASK_NOT_FOUND'],
    [{ code: -32001, message: 'Task not found', data: { taskId: 't' } }, 'TASK_NOT_FOUND'],
    [{ code: -32601, message: 'Method not found', data: null }, 'METHOD_NOT_FOUND'],
    [{ code: -32600, message: 'x' }, 'INVALID_REQUEST'],
    [{ code: -32006, message: 'x' }, 'INVALID_AGENT_RESPONSE'],
    [{ code: -32063, message: 'x' }, 'UNAVAILABLE'],
    [{ code: -32000, message: 'x', data: { reason: 'TASK_NOT_FOUND' } }, 'TASK_NOT_FOUND'],
    [
      { code: -32603, message: 'x', data: [{ reason: 'TASK_NOT_CANCELABLE' }] },
      'TASK_NOT_CANCELABLE',
    ],
    [
      { code: -32001, message: 'x', data: [{ reason: 'RATE_LIMITED', domain: 'other.com' }] },
      'TASK_NOT_FOUND',
    ],
    [{ code: 42, message: 'x' }, 'INTERNAL'],
    [{}, 'INTERNAL'],
    [null, 'INTERNAL'],
    ['boom', 'INTERNAL'],
  ] as const)('%j is %s', (wire, code) => {
    expect(fromJsonRpcError(wire).code).toBe(code);
  });

  test('an error without text says its number', () => {
    expect(fromJsonRpcError({ code: -32001 }).message).toBe('the peer answered with error -32001');
  });

  test('a long text is cut', () => {
    const { message } = fromJsonRpcError({ code: -32001, message: 'x'.repeat(10_000) });
    expect(message).toHaveLength(2000);
  });
});

describe('errors of REST peers', () => {
  test.each([
    [404, { code: -32001, message: 'Task not found' }, 'TASK_NOT_FOUND'],
    [400, { code: -32002, message: 'x', data: {} }, 'TASK_NOT_CANCELABLE'],
    [404, { message: 'Task not found' }, 'TASK_NOT_FOUND'],
    [404, { detail: 'Task not found' }, 'TASK_NOT_FOUND'],
    [
      404,
      { type: 'https://a2a-protocol.org/errors/task-not-found', title: 'Not found' },
      'TASK_NOT_FOUND',
    ],
    [404, { detail: '' }, 'ROUTE_NOT_FOUND'],
    [404, { detail: 'Not Found' }, 'ROUTE_NOT_FOUND'],
    [404, { message: 'no Route matched with those values' }, 'ROUTE_NOT_FOUND'],
    [404, { message: 'Cannot POST /tasks/task-1:subscribe' }, 'ROUTE_NOT_FOUND'],
    [404, '<html>', 'ROUTE_NOT_FOUND'],
    [404, undefined, 'ROUTE_NOT_FOUND'],
    [400, { message: 'x', type: 'TaskNotCancelableError' }, 'TASK_NOT_CANCELABLE'],
    [
      400,
      { error: { code: 400, message: 'x', details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } },
      'VERSION_NOT_SUPPORTED',
    ],
    [400, { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'x' } }, 'INVALID_PARAMS'],
    [400, { error: 'invalid_request' }, 'INVALID_PARAMS'],
    [401, undefined, 'UNAUTHENTICATED'],
    [403, {}, 'PERMISSION_DENIED'],
    [405, {}, 'METHOD_NOT_ALLOWED'],
    [409, {}, 'INVALID_REQUEST'],
    [409, { message: 'Conflict' }, 'INVALID_REQUEST'],
    [409, { message: 'Task is locked' }, 'INVALID_REQUEST'],
    [409, { message: 'Task cannot be canceled - current state: completed' }, 'TASK_NOT_CANCELABLE'],
    [
      409,
      { type: 'https://a2a-protocol.org/errors/task-not-cancelable', detail: 'it has ended' },
      'TASK_NOT_CANCELABLE',
    ],
    [413, {}, 'PAYLOAD_TOO_LARGE'],
    [415, {}, 'CONTENT_TYPE_NOT_SUPPORTED'],
    [418, {}, 'INVALID_REQUEST'],
    [429, {}, 'RATE_LIMITED'],
    [500, {}, 'INTERNAL'],
    [501, {}, 'UNSUPPORTED_OPERATION'],
    [502, undefined, 'UNAVAILABLE'],
    [503, undefined, 'UNAVAILABLE'],
  ] as const)('%i %j is %s', (status, body, code) => {
    expect(fromRestError(status, body).code).toBe(code);
  });

  test('the text is taken from wherever the peer put it', () => {
    expect(fromRestError(404, { detail: 'gone' }).message).toBe('gone');
    expect(fromRestError(400, { error: 'invalid_request' }).message).toBe('invalid_request');
    expect(fromRestError(500, undefined).message).toBe('the peer answered with HTTP status 500');
  });
});

test('metadata of a peer cannot reach a prototype', () => {
  const data: unknown = JSON.parse('[{"metadata":{"__proto__":"x","a":"b","n":1}}]');
  expect(fromJsonRpcError({ code: -32001, data }).metadata).toEqual({ a: 'b' });
});

test('a task that is not there is named', () => {
  expect(toJsonRpcError(taskNotFound('t7'))).toMatchObject({
    message: 'task t7 not found',
    data: [{ reason: 'TASK_NOT_FOUND', metadata: { taskId: 't7' } }],
  });
});
