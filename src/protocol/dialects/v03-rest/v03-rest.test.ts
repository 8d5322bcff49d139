import { describe, expect, test } from 'vitest';
import type { Message } from '../../model.ts';
import { v03 } from '../v03/index.ts';
import { v1 } from '../v1/index.ts';
import { v03Rest } from './index.ts';

const message: Message = {
  messageId: 'm',
  role: 'ROLE_USER',
  contextId: 'c',
  parts: [
    { text: 'x', metadata: { k: 1 } },
    { raw: 'AA==', filename: 'n', mediaType: 'a/b' },
    { url: 'https://e.com' },
    { data: { a: 1 } },
    { data: 7 },
  ],
};
const wireMessage = {
  messageId: 'm',
  role: 'ROLE_USER',
  contextId: 'c',
  content: [
    { text: 'x', metadata: { k: 1 } },
    { file: { fileWithBytes: 'AA==', name: 'n', mimeType: 'a/b' } },
    { file: { fileWithUri: 'https://e.com' } },
    { data: { data: { a: 1 } } },
    { data: { data: { value: 7 } }, metadata: { data_part_compat: true } },
  ],
};

test('a message is ProtoJSON of the 0.3 proto', () => {
  expect(v03Rest.message.encode(message)).toEqual(wireMessage);
  expect(v03Rest.message.decode(wireMessage)).toEqual(message);
});

test('a message in the JSON-RPC form is read as well', () => {
  expect(v03Rest.message.decode(v03.message.encode(message))).toEqual(message);
});

test('a data part without kind that is not nested is taken as it is', () => {
  const wire = { ...wireMessage, content: [{ data: { a: 1 } }, { data: { data: 5 } }] };
  expect(v03Rest.message.decode(wire).parts).toEqual([{ data: { a: 1 } }, { data: { data: 5 } }]);
});

test('a data part with a kind is never unnested', () => {
  const wire = { ...wireMessage, content: [{ kind: 'data', data: { data: { a: 1 } } }] };
  expect(v03Rest.message.decode(wire).parts).toEqual([{ data: { data: { a: 1 } } }]);
});

test('lost: the tasks that a message refers to', () => {
  const wire = v03Rest.message.encode({ ...message, referenceTaskIds: ['t'] });
  expect(wire).toEqual(wireMessage);
  // A body in the JSON-RPC form may have them.
  expect(v03Rest.message.decode({ ...wireMessage, referenceTaskIds: ['t'] })).toEqual({
    ...message,
    referenceTaskIds: ['t'],
  });
});

test('canceled has two Ls', () => {
  const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELED' } } as const;
  const wire = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELLED' } };
  expect(v03Rest.task.encode(task)).toEqual(wire);
  expect(v03Rest.task.decode(wire)).toEqual(task);
  expect(v03Rest.task.decode(task)).toEqual(task);
});

test('the message of a status may have the name of the proto', () => {
  const status = { state: 'TASK_STATE_WORKING', update: wireMessage };
  expect(v03Rest.task.decode({ id: 't', contextId: 'c', status }).status.message).toEqual(message);
});

describe('responses and events are wrapped', () => {
  test('a message, also under the name msg, or bare', () => {
    expect(v03Rest.sendMessageResponse.encode({ message })).toEqual({ message: wireMessage });
    for (const wire of [{ message: wireMessage }, { msg: wireMessage }, wireMessage]) {
      expect(v03Rest.sendMessageResponse.decode(wire)).toEqual({ message });
    }
  });

  test('a status update says whether it is final', () => {
    const status = { state: 'TASK_STATE_COMPLETED' } as const;
    const event = { statusUpdate: { taskId: 't', contextId: 'c', status } };
    const wire = { statusUpdate: { taskId: 't', contextId: 'c', status, final: true } };
    expect(v03Rest.streamResponse.encode(event, true)).toEqual(wire);
    expect(v03Rest.streamResponse.decode(wire)).toEqual(event);
    const bare = v03.streamResponse.encode(event, true);
    expect(v03Rest.streamResponse.decode(bare)).toEqual(event);
  });
});

describe('sending', () => {
  test('the configuration is always written, for its absence would not block', () => {
    expect(v03Rest.sendMessageRequest.encode({ message })).toEqual({
      message: wireMessage,
      configuration: { blocking: true },
    });
  });

  test('a configuration without blocking does not wait in ProtoJSON, and does in the JSON-RPC form', () => {
    const decode = (message: object, configuration: object) =>
      v03Rest.sendMessageRequest.decode({ message, configuration }).configuration;
    expect(decode(wireMessage, {})).toEqual({ returnImmediately: true });
    expect(decode(wireMessage, { blocking: true })).toBeUndefined();
    const { content, ...rest } = wireMessage as { content: unknown };
    expect(content).toBeDefined();
    expect(decode({ ...rest, parts: [{ kind: 'text', text: 'x' }] }, {})).toBeUndefined();
  });

  test('a push configuration may have the name of the proto', () => {
    const push = { url: 'https://e.com', authentication: { schemes: ['Bearer'] } };
    for (const name of ['pushNotification', 'push_notification', 'pushNotificationConfig']) {
      const request = { request: wireMessage, configuration: { blocking: true, [name]: push } };
      expect(v03Rest.sendMessageRequest.decode(request).configuration).toEqual({
        taskPushNotificationConfig: { url: 'https://e.com', authentication: { scheme: 'Bearer' } },
      });
    }
  });
});

describe('things are addressed by resource name, or by id', () => {
  test.each([{ name: 'tasks/t' }, { id: 't' }])('a task by %j', (wire) => {
    expect(v03Rest.getTaskRequest.decode({ ...wire, historyLength: '2' })).toEqual({
      id: 't',
      historyLength: 2,
    });
    expect(v03Rest.cancelTaskRequest.decode(wire)).toEqual({ id: 't' });
    expect(v03Rest.subscribeToTaskRequest.decode(wire)).toEqual({ id: 't' });
  });

  test.each(['t', 'tasks', 'tasks/', 'agents/t', 7])('the name %j is refused', (name) => {
    expect(() => v03Rest.getTaskRequest.decode({ name })).toThrow('name');
  });

  test.each([
    { name: 'tasks/t/pushNotificationConfigs/i' },
    { id: 't', pushNotificationConfigId: 'i' },
    { taskId: 't', id: 'i' },
  ])('a push configuration by %j', (wire) => {
    const request = { taskId: 't', id: 'i' };
    expect(v03Rest.getTaskPushNotificationConfigRequest.decode(wire)).toEqual(request);
    expect(v03Rest.deleteTaskPushNotificationConfigRequest.decode(wire)).toEqual(request);
  });

  test.each([{ parent: 'tasks/t' }, { id: 't' }, { taskId: 't' }])(
    'the push configurations of a task by %j',
    (wire) => {
      expect(v03Rest.listTaskPushNotificationConfigsRequest.decode(wire)).toEqual({ taskId: 't' });
    },
  );

  test('a name of a task alone deletes nothing', () => {
    const { deleteTaskPushNotificationConfigRequest: remove } = v03Rest;
    expect(() => remove.decode({ name: 'tasks/t' })).toThrow('name: is required');
  });

  const details = { id: 'i', url: 'https://e.com' };
  test.each([
    { name: 'tasks/t/pushNotificationConfigs/i', pushNotificationConfig: details },
    { name: 'tasks/t/pushNotificationConfigs/i', pushNotificationConfig: { url: 'https://e.com' } },
    { taskId: 't', pushNotificationConfig: details },
    { parent: 'tasks/t', configId: 'i', config: { pushNotificationConfig: { url: details.url } } },
    { parent: 'task/t/pushNotificationConfigs', config: { pushNotificationConfig: details } },
    { parent: 'tasks/t', config: details },
  ])('a push configuration is read from %j', (wire) => {
    expect(v03Rest.taskPushNotificationConfig.decode(wire)).toEqual({ ...details, taskId: 't' });
  });

  test('a bare push configuration has its task in the path', () => {
    expect(v03Rest.taskPushNotificationConfig.decode(details)).toEqual(details);
  });

  test('a push configuration is written as a resource', () => {
    expect(v03Rest.taskPushNotificationConfig.encode({ ...details, taskId: 't' })).toEqual({
      name: 'tasks/t/pushNotificationConfigs/i',
      pushNotificationConfig: details,
    });
  });
});

test('lost: the metadata of a cancel request', () => {
  expect(v03Rest.cancelTaskRequest.encode({ id: 't', metadata: { why: 1 } })).toEqual({
    name: 'tasks/t',
  });
});

test('an empty authentication is an unset one, in every dialect', () => {
  const config = { url: 'https://e.com', authentication: {} };
  const wrapped = { taskId: 't', pushNotificationConfig: config };
  for (const decoded of [
    v1.taskPushNotificationConfig.decode(config),
    v03.taskPushNotificationConfig.decode(wrapped),
    v03Rest.taskPushNotificationConfig.decode(wrapped),
  ]) {
    expect(decoded).not.toHaveProperty('authentication');
  }
});
