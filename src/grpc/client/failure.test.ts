import { Metadata, status } from '@grpc/grpc-js';
import { beforeAll, expect, test } from 'vitest';
import { LegateError } from '../../protocol/index.ts';
import { Statuses } from '../status.ts';
import { failureOf } from './failure.ts';

let statuses: Statuses;
beforeAll(async () => {
  statuses = await Statuses.load();
});

function ended(code: number, details = '', metadata = new Metadata()): LegateError {
  return failureOf(
    Object.assign(new Error(details), { code, details, metadata }),
    statuses,
    'getTask at https://agent.example',
  );
}

test('the details of a status tell the error (10.6)', () => {
  const told = new LegateError('TASK_NOT_CANCELABLE', 'it is over', {
    metadata: { taskId: 't1' },
    retryAfter: 2,
  });
  const { code, details, metadata } = statuses.of(told);
  expect(ended(code, details, metadata)).toMatchObject({
    code: 'TASK_NOT_CANCELABLE',
    message: 'it is over',
    metadata: { taskId: 't1' },
    retryAfter: 2,
  });
});

test.each([
  ['NOT_FOUND', 'no such task', 'TASK_NOT_FOUND'],
  ['INVALID_ARGUMENT', 'no', 'INVALID_PARAMS'],
  ['UNAUTHENTICATED', '', 'UNAUTHENTICATED'],
  ['PERMISSION_DENIED', '', 'PERMISSION_DENIED'],
  ['RESOURCE_EXHAUSTED', 'slow down', 'RATE_LIMITED'],
  ['DEADLINE_EXCEEDED', '', 'REQUEST_TIMEOUT'],
  ['UNIMPLEMENTED', '', 'METHOD_NOT_FOUND'],
  ['UNAVAILABLE', 'connect ECONNREFUSED', 'PEER_UNREACHABLE'],
  ['CANCELLED', '', 'PEER_UNREACHABLE'],
  ['INTERNAL', 'Received RST_STREAM with code 2', 'PEER_UNREACHABLE'],
  ['INTERNAL', 'it broke', 'INTERNAL'],
  ['UNKNOWN', '', 'PEER_INVALID'],
  ['DATA_LOSS', '', 'PEER_INVALID'],
  ['UNIMPLEMENTED', 'Received HTTP status code 404', 'PEER_INVALID'],
  ['UNAVAILABLE', 'Received HTTP status code 503', 'PEER_UNREACHABLE'],
  ['RESOURCE_EXHAUSTED', 'Received message larger than max (9 vs 8)', 'PEER_INVALID'],
  ['NOT_FOUND', 'TaskNotFoundError: Task not found', 'TASK_NOT_FOUND'],
  ['UNIMPLEMENTED', 'TaskNotCancelableError: it is over', 'TASK_NOT_CANCELABLE'],
  ['UNIMPLEMENTED', 'PushNotificationNotSupportedError: no', 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  ['UNIMPLEMENTED', 'MadeUpError: no', 'METHOD_NOT_FOUND'],
] as const)('without details, %s "%s" is %s', (name, text, code) => {
  expect(ended(status[name], text).code).toBe(code);
});

test('details that are none leave the status, and ones without a reason do not hide it', () => {
  const broken = new Metadata();
  broken.set('grpc-status-details-bin', Buffer.from([0xff, 0xff, 0xff]));
  expect(ended(status.NOT_FOUND, 'gone', broken).code).toBe('TASK_NOT_FOUND');
  const empty = new Metadata();
  empty.set('grpc-status-details-bin', Buffer.alloc(0));
  expect(ended(status.UNAVAILABLE, '', empty).code).toBe('PEER_UNREACHABLE');
});

test('a text says what was asked, where, and the outcome, within bounds', () => {
  const { message, metadata } = ended(status.UNAVAILABLE, 'connect ECONNREFUSED');
  expect(message).toBe('getTask at https://agent.example did not answer: connect ECONNREFUSED');
  expect(metadata).toEqual({ status: 'UNAVAILABLE' });
  expect(ended(status.INTERNAL, 'x'.repeat(100_000)).message.length).toBeLessThan(600);
});

test('whatever else is thrown is not A2A', () => {
  expect(failureOf('no', statuses, 'getTask').code).toBe('PEER_INVALID');
});
