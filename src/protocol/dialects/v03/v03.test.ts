import { describe, expect, test } from 'vitest';
import type { Message, Part, StreamResponse } from '../../model.ts';
import { v03 } from './index.ts';

const message: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
const wireMessage = {
  kind: 'message',
  messageId: 'm',
  role: 'user',
  parts: [{ kind: 'text', text: 'x' }],
};

describe('parts', () => {
  const encode = (part: Part) =>
    (v03.message.encode({ ...message, parts: [part] }) as { parts: unknown[] }).parts[0];
  const decode = (part: unknown) => v03.message.decode({ ...wireMessage, parts: [part] }).parts[0];

  test.each<[Part, object]>([
    [{ text: 'x' }, { kind: 'text', text: 'x' }],
    [
      { raw: 'AA==', filename: 'n', mediaType: 'a/b', metadata: { k: 1 } },
      { kind: 'file', file: { bytes: 'AA==', name: 'n', mimeType: 'a/b' }, metadata: { k: 1 } },
    ],
    [{ url: 'https://e.com' }, { kind: 'file', file: { uri: 'https://e.com' } }],
    [{ data: { a: 1 } }, { kind: 'data', data: { a: 1 } }],
    [{ data: [1] }, { kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } }],
    [
      { data: null, metadata: { k: 1 } },
      { kind: 'data', data: { value: null }, metadata: { k: 1, data_part_compat: true } },
    ],
  ])('%j is written as %j, and read back', (part, wire) => {
    expect(encode(part)).toEqual(wire);
    expect(decode(wire)).toEqual(part);
  });

  test.each([
    [{ bytes: '-_8' }, { raw: '+/8=' }],
    [
      { fileWithBytes: 'AA==', mime_type: 'a/b' },
      { raw: 'AA==', mediaType: 'a/b' },
    ],
    [{ file_with_bytes: 'AA==' }, { raw: 'AA==' }],
    [{ data: 'AA==' }, { raw: 'AA==' }],
    [{ uri: 'https://e.com' }, { url: 'https://e.com' }],
    [{ fileWithUri: 'https://e.com' }, { url: 'https://e.com' }],
    [
      { file_with_uri: 'https://e.com', name: 'n' },
      { url: 'https://e.com', filename: 'n' },
    ],
  ])('a file spelled %j is read', (file, part) => {
    expect(decode({ kind: 'file', file })).toEqual(part);
    expect(decode({ file })).toEqual(part);
  });

  test.each([
    { kind: 'text' },
    { kind: 'text', data: {} },
    { kind: 'data', data: [1] },
    { kind: 'data', data: 'x' },
    { kind: 'data', data: null },
    { kind: 'file', file: {} },
    { kind: 'file', file: { bytes: 'AA==', uri: 'https://e.com' } },
    { kind: 'file', file: { bytes: '!' } },
    { kind: 'file', file: { uri: '' } },
    { kind: 'file', file: 'x' },
    { kind: 'video', text: 'x' },
    { kind: 'text', text: 'x', file: { uri: 'u' } },
  ])('%j is refused', (part) => {
    expect(() => decode(part)).toThrow('parts[0]');
  });

  test('lost: file name and media type of text and data', () => {
    expect(encode({ text: 'x', filename: 'n', mediaType: 'a/b' })).toEqual({
      kind: 'text',
      text: 'x',
    });
    expect(encode({ data: {}, filename: 'n', mediaType: 'a/b' })).toEqual({
      kind: 'data',
      data: {},
    });
  });

  test('lost: an object that bears the mark of a wrapped value cannot be told from one', () => {
    const part = { data: { value: 1 }, metadata: { data_part_compat: true } };
    expect(decode(encode(part))).toEqual({ data: 1 });
  });

  test('lost: an empty metadata beside a wrapped value', () => {
    expect(decode(encode({ data: 1, metadata: {} }))).toEqual({ data: 1 });
  });
});

describe('states', () => {
  test.each([
    ['TASK_STATE_UNSPECIFIED', 'unknown'],
    ['TASK_STATE_SUBMITTED', 'submitted'],
    ['TASK_STATE_WORKING', 'working'],
    ['TASK_STATE_COMPLETED', 'completed'],
    ['TASK_STATE_FAILED', 'failed'],
    ['TASK_STATE_CANCELED', 'canceled'],
    ['TASK_STATE_INPUT_REQUIRED', 'input-required'],
    ['TASK_STATE_REJECTED', 'rejected'],
    ['TASK_STATE_AUTH_REQUIRED', 'auth-required'],
  ] as const)('%s is %s', (state, name) => {
    const task = { id: 't', contextId: 'c', status: { state } };
    const wire = { kind: 'task', id: 't', contextId: 'c', status: { state: name } };
    expect(v03.task.encode(task)).toEqual(wire);
    expect(v03.task.decode(wire)).toEqual(task);
  });
});

describe('responses and events are bare, told by their kind', () => {
  const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } as const;
  const artifact = { artifactId: 'a', parts: [{ text: 'x' }] };
  test.each<[StreamResponse, object]>([
    [{ task }, { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } }],
    [{ message }, wireMessage],
    [
      { statusUpdate: { taskId: 't', contextId: 'c', status: task.status } },
      {
        kind: 'status-update',
        taskId: 't',
        contextId: 'c',
        status: { state: 'working' },
        final: true,
      },
    ],
    [
      { artifactUpdate: { taskId: 't', contextId: 'c', artifact, append: true } },
      {
        kind: 'artifact-update',
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'x' }] },
        append: true,
      },
    ],
  ])('%j is written as %j', (value, wire) => {
    expect(v03.streamResponse.encode(value, true)).toEqual(wire);
    expect(v03.streamResponse.decode(wire)).toEqual(value);
    const { kind: _, ...withoutKind } = wire as { kind: string };
    expect(v03.streamResponse.decode(withoutKind)).toEqual(value);
  });

  test('final says whether the stream closes after the event', () => {
    const event = { statusUpdate: { taskId: 't', contextId: 'c', status: task.status } };
    expect(v03.streamResponse.encode(event, false)).toMatchObject({ final: false });
  });

  test('a wrong kind is refused', () => {
    expect(() => v03.streamResponse.decode({ ...wireMessage, kind: 'letter' })).toThrow('kind');
    expect(() => v03.sendMessageResponse.decode({ kind: 'status-update' })).toThrow();
    expect(() => v03.message.decode({ ...wireMessage, kind: 'task' })).toThrow('kind');
  });
});

describe('sending', () => {
  const decode = (configuration: object) =>
    v03.sendMessageRequest.decode({ message: wireMessage, configuration }).configuration;

  test('only an explicit blocking: false returns at once', () => {
    expect(decode({ blocking: false })).toEqual({ returnImmediately: true });
    expect(decode({ blocking: true, historyLength: 1 })).toEqual({ historyLength: 1 });
    expect(decode({ historyLength: 1 })).toEqual({ historyLength: 1 });
    expect(decode({})).toBeUndefined();
  });

  test('blocking is written whenever there is a configuration', () => {
    const encode = (configuration: object) =>
      v03.sendMessageRequest.encode({ message, configuration });
    expect(encode({})).toMatchObject({ configuration: { blocking: true } });
    expect(encode({ returnImmediately: true })).toMatchObject({
      configuration: { blocking: false },
    });
    expect(v03.sendMessageRequest.encode({ message })).toEqual({ message: wireMessage });
  });

  test('an inline push configuration has its 0.3 shape', () => {
    const wire = {
      acceptedOutputModes: ['text/plain'],
      pushNotificationConfig: {
        id: 'i',
        url: 'https://e.com',
        token: 't',
        authentication: { schemes: ['Bearer', 'Basic'], credentials: 'c' },
      },
    };
    expect(decode(wire)).toEqual({
      acceptedOutputModes: ['text/plain'],
      taskPushNotificationConfig: {
        id: 'i',
        url: 'https://e.com',
        token: 't',
        authentication: { scheme: 'Bearer', credentials: 'c' },
      },
    });
  });

  test('lost: that a role is unspecified', () => {
    expect(v03.message.encode({ ...message, role: 'ROLE_UNSPECIFIED' })).toEqual(wireMessage);
  });

  test('lost: tenant', () => {
    expect(v03.sendMessageRequest.encode({ message, tenant: 't' })).not.toHaveProperty('tenant');
    expect(v03.getTaskRequest.encode({ id: 'i', tenant: 't' })).toEqual({ id: 'i' });
  });

  test('a time without a zone is UTC', () => {
    const status = { state: 'working', timestamp: '2025-01-31T12:00:00' };
    const task = v03.task.decode({ kind: 'task', id: 't', contextId: 'c', status });
    expect(task.status.timestamp).toBe('2025-01-31T12:00:00.000Z');
  });
});

describe('push configurations', () => {
  const config = { taskId: 't', id: 'i', url: 'https://e.com' };
  const wire = { taskId: 't', pushNotificationConfig: { id: 'i', url: 'https://e.com' } };

  test('are written with their task beside them', () => {
    expect(v03.taskPushNotificationConfig.encode(config)).toEqual(wire);
    expect(v03.taskPushNotificationConfig.decode(wire)).toEqual(config);
  });

  test('are listed as a bare array', () => {
    const page = { configs: [config], nextPageToken: '' };
    expect(v03.listTaskPushNotificationConfigsResponse.encode(page)).toEqual([wire]);
    expect(v03.listTaskPushNotificationConfigsResponse.decode([wire])).toEqual(page);
    expect(() => v03.listTaskPushNotificationConfigsResponse.decode({})).toThrow('array');
    expect(() => v03.listTaskPushNotificationConfigsResponse.decode([{}])).toThrow(
      '[0].pushNotificationConfig',
    );
  });

  test('are asked for by the id of the task, and of the configuration if known', () => {
    const { getTaskPushNotificationConfigRequest: get } = v03;
    expect(get.decode({ id: 't' })).toEqual({ taskId: 't' });
    expect(get.decode({ id: 't', pushNotificationConfigId: 'i' })).toEqual({
      taskId: 't',
      id: 'i',
    });
    expect(get.encode({ taskId: 't', id: 'i' })).toEqual({
      id: 't',
      pushNotificationConfigId: 'i',
    });
    expect(() => v03.deleteTaskPushNotificationConfigRequest.decode({ id: 't' })).toThrow(
      'pushNotificationConfigId',
    );
  });

  test('an authentication without schemes is none, and one with credentials only is refused', () => {
    const decode = (authentication: object) =>
      v03.taskPushNotificationConfig.decode({
        taskId: 't',
        pushNotificationConfig: { url: 'https://e.com', authentication },
      });
    expect(decode({ schemes: [] })).toEqual({ taskId: 't', url: 'https://e.com' });
    expect(() => decode({ schemes: [], credentials: 'c' })).toThrow('schemes');
    expect(() => decode({ credentials: 'c' })).toThrow('schemes');
  });
});
