import { describe, expect, test } from 'vitest';
import { parseJson } from '../../index.ts';
import { v1 } from './index.ts';

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };

describe('ProtoJSON leniency on input (§5.5 to §5.7)', () => {
  test('every field may have its snake_case name', () => {
    const wire = {
      message: {
        message_id: 'm',
        context_id: 'c',
        task_id: 't',
        role: 'ROLE_USER',
        parts: [{ url: 'https://e.com/a', media_type: 'text/csv' }],
        reference_task_ids: ['r'],
      },
      configuration: {
        accepted_output_modes: ['text/plain'],
        task_push_notification_config: { url: 'https://e.com', task_id: 't' },
        history_length: 3,
        return_immediately: true,
      },
    };
    expect(v1.sendMessageRequest.decode(wire)).toEqual({
      message: {
        messageId: 'm',
        contextId: 'c',
        taskId: 't',
        role: 'ROLE_USER',
        parts: [{ url: 'https://e.com/a', mediaType: 'text/csv' }],
        referenceTaskIds: ['r'],
      },
      configuration: {
        acceptedOutputModes: ['text/plain'],
        taskPushNotificationConfig: { url: 'https://e.com', taskId: 't' },
        historyLength: 3,
        returnImmediately: true,
      },
    });
    expect(
      v1.listTasksRequest.decode({
        context_id: 'c',
        page_size: 5,
        page_token: 'p',
        history_length: 1,
        status_timestamp_after: '2025-01-01T00:00:00Z',
        include_artifacts: false,
      }),
    ).toEqual({
      contextId: 'c',
      pageSize: 5,
      pageToken: 'p',
      historyLength: 1,
      statusTimestampAfter: '2025-01-01T00:00:00.000Z',
      includeArtifacts: false,
    });
    const event = {
      artifact_update: {
        task_id: 't',
        context_id: 'c',
        artifact: { artifact_id: 'a', parts: [{ text: 'x' }] },
        last_chunk: true,
      },
    };
    expect(v1.streamResponse.decode(event)).toEqual({
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'a', parts: [{ text: 'x' }] },
        lastChunk: true,
      },
    });
    const update = { task_id: 't', context_id: 'c', status: { state: 2 } };
    expect(v1.streamResponse.decode({ status_update: update })).toEqual({
      statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } },
    });
  });

  test('enums may be numbers', () => {
    const task = {
      id: 't',
      context_id: 'c',
      status: { state: 6, message: { ...message, role: 2 } },
    };
    const { status } = v1.task.decode(task);
    expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(status.message?.role).toBe('ROLE_AGENT');
  });

  test('integers may be strings of digits', () => {
    expect(v1.getTaskRequest.decode({ id: 't', historyLength: '12' }).historyLength).toBe(12);
    expect(() => v1.getTaskRequest.decode({ id: 't', historyLength: 'a' })).toThrow(
      'historyLength',
    );
    expect(() => v1.getTaskRequest.decode({ id: 't', historyLength: '' })).toThrow('historyLength');
  });

  test('raw bytes come out in the standard alphabet with padding', () => {
    const decoded = v1.message.decode({ ...message, parts: [{ raw: '-_8' }, { raw: '' }] });
    expect(decoded.parts).toEqual([{ raw: '+/8=' }, { raw: '' }]);
  });

  test('null is unset everywhere but in data, where it is a value', () => {
    const wire = {
      ...message,
      contextId: null,
      metadata: null,
      extensions: null,
      parts: [{ text: 'x', url: null, raw: null, metadata: null, filename: null }, { data: null }],
    };
    expect(v1.message.decode(wire)).toEqual({
      ...message,
      parts: [{ text: 'x' }, { data: null }],
    });
    expect(() => v1.message.decode({ ...message, parts: [{ text: 'x', data: null }] })).toThrow(
      'exactly one of',
    );
  });

  test('an empty optional string is unset', () => {
    const wire = { ...message, contextId: '', taskId: '', parts: [{ text: '', filename: '' }] };
    expect(v1.message.decode(wire)).toEqual({ ...message, parts: [{ text: '' }] });
  });

  test('data is any JSON', () => {
    const values = [null, false, 0, '', [], {}, [1, { a: null }], 'x', 1.5];
    const parts = values.map((data) => ({ data }));
    expect(v1.message.decode({ ...message, parts }).parts).toEqual(parts);
  });
});

test('a kind means nothing in 1.x', () => {
  expect(v1.message.decode({ ...message, kind: 'task' })).toEqual(message);
});

test('0.3 spellings are refused in 1.x', () => {
  expect(() => v1.message.decode({ ...message, role: 'user' })).toThrow('role');
  const part = { kind: 'file', file: { bytes: 'AA==' } };
  expect(() => v1.message.decode({ ...message, parts: [part] })).toThrow('parts[0]');
  const task = { id: 't', contextId: 'c', status: { state: 'working' } };
  expect(() => v1.task.decode(task)).toThrow('status.state');
});

test.each([{}, { task: null }, { message, task: { id: 't', status: { state: 1 } } }])(
  'a response of %j is refused: not exactly one member',
  (wire) => {
    expect(() => v1.sendMessageResponse.decode(wire)).toThrow('exactly one of');
    expect(() => v1.streamResponse.decode(wire)).toThrow('exactly one of');
  },
);

test('a task of a peer may lack its context, an update may not', () => {
  const status = { state: 'TASK_STATE_WORKING' };
  expect(v1.task.decode({ id: 't', status }).contextId).toBe('');
  expect(() => v1.streamResponse.decode({ statusUpdate: { taskId: 't', status } })).toThrow(
    'statusUpdate.contextId',
  );
});

test('a push configuration needs its url, and an authentication its scheme', () => {
  expect(() => v1.taskPushNotificationConfig.decode({ taskId: 't' })).toThrow('url: is required');
  const bad = { url: 'https://e.com', authentication: { credentials: 'c' } };
  expect(() => v1.taskPushNotificationConfig.decode(bad)).toThrow('authentication.scheme');
});

test('getting a push configuration needs its id in 1.x', () => {
  expect(() => v1.getTaskPushNotificationConfigRequest.decode({ taskId: 't' })).toThrow('id');
});

test('a page size of 0 for push configurations is unset', () => {
  const request = { taskId: 't', pageSize: 0 };
  expect(v1.listTaskPushNotificationConfigsRequest.decode(request)).toEqual({ taskId: 't' });
});

test('a whole request goes from text to the model and is the same as it was', () => {
  const request = { message, configuration: { historyLength: 0, returnImmediately: false } };
  const text = JSON.stringify(v1.sendMessageRequest.encode(v1.sendMessageRequest.decode(request)));
  expect(parseJson(text)).toEqual(request);
});
