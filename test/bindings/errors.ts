import { expect } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import { anonymous } from '../../src/tasks/index.ts';
import { as, codeOf, type ErrorRow, in03, noList, say, send, subscribe, taskOf } from './row.ts';

/** Never called: what is registered with it is refused. */
const nowhere = 'https://example.com/hook';
const missing = { id: 'no-such-task' };
const missingConfig = { taskId: 'no-such-task', id: 'no-such-config' };

/** Every operation, asked of a task that does not exist where it asks of one. */
const everything: readonly ((through: Transport, more?: object) => Promise<unknown>)[] = [
  (through, more = {}) => through.call('sendMessage', { message: say('refuse') }, more),
  (through, more = {}) => through.stream('sendStreamingMessage', { message: say('refuse') }, more),
  (through, more = {}) => through.call('getTask', missing, more),
  (through, more = {}) => through.call('cancelTask', missing, more),
  (through, more = {}) => through.stream('subscribeToTask', missing, more),
  (through, more = {}) => {
    const config = { ...missingConfig, url: nowhere };
    return through.call('createTaskPushNotificationConfig', config, more);
  },
  (through, more = {}) => through.call('getTaskPushNotificationConfig', missingConfig, more),
  (through, more = {}) => through.call('listTaskPushNotificationConfigs', missingConfig, more),
  (through, more = {}) => through.call('deleteTaskPushNotificationConfig', missingConfig, more),
  (through, more = {}) => through.call('getExtendedAgentCard', {}, more),
];
const [sendIt, streamIt, getIt, cancelIt, subscribeToIt, ...pushAndCard] = everything;
const pushes = pushAndCard.slice(0, 4);

/** Runs several that must all fail in the same way. */
const each =
  (operations: readonly ((typeof everything)[number] | undefined)[], more: object = {}) =>
  async (through: Transport): Promise<unknown> => {
    const codes = await Promise.all(
      operations.map((operation) => codeOf(async () => operation?.(through, more))),
    );
    const [first] = codes;
    expect(codes).toEqual(codes.map(() => first));
    throw Object.assign(new Error('all alike'), { code: first });
  };

/** What every binding must refuse alike. */
export const errors: { readonly [name: string]: ErrorRow } = {
  'a task that does not exist: get, cancel, subscribe, push configurations': {
    code: 'TASK_NOT_FOUND',
    run: each([getIt, cancelIt, subscribeToIt, ...pushes]),
  },
  'a message to a task that does not exist': {
    code: 'TASK_NOT_FOUND',
    run: (through) => send(through, 'do', { taskId: 'no-such-task' }),
  },
  'a push configuration that does not exist': {
    code: 'TASK_NOT_FOUND',
    run: async (through) => {
      const { id: taskId } = await taskOf(send(through, 'ask'));
      return through.call('getTaskPushNotificationConfig', { taskId, id: 'none' }, {});
    },
  },
  'cancelling a task that has ended': {
    code: 'TASK_NOT_CANCELABLE',
    run: async (through) => {
      const { id } = await taskOf(send(through, 'refuse'));
      return through.call('cancelTask', { id }, {});
    },
  },
  'a message to a task that has ended': {
    code: 'UNSUPPORTED_OPERATION',
    run: async (through) => {
      const { id: taskId } = await taskOf(send(through, 'refuse'));
      return send(through, 'do', { taskId });
    },
  },
  'subscribing to a task that has ended': {
    code: 'UNSUPPORTED_OPERATION',
    without: in03('0.3 gives the task and ends the stream'),
    run: async (through) => {
      const { id } = await taskOf(send(through, 'refuse'));
      return subscribe(through, id);
    },
  },
  'streams of an agent that does not stream': {
    server: 'bare',
    code: 'UNSUPPORTED_OPERATION',
    run: each([streamIt, subscribeToIt]),
  },
  'the extended card of an agent that has none': {
    server: 'bare',
    code: 'UNSUPPORTED_OPERATION',
    run: (through) => through.call('getExtendedAgentCard', {}, {}),
  },
  'the extended card of an agent that promises one and has none': {
    server: 'forgetful',
    code: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    run: (through) => through.call('getExtendedAgentCard', {}, {}),
  },
  'push configurations of an agent that sends none': {
    server: 'bare',
    code: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    run: each(pushes),
  },
  'a push configuration inside a message to an agent that sends none': {
    server: 'bare',
    code: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    run: (through) => send(through, 'do', {}, { taskPushNotificationConfig: { url: nowhere } }),
  },
  'a required extension that the caller did not name': {
    server: 'demanding',
    code: 'EXTENSION_SUPPORT_REQUIRED',
    run: each([sendIt, streamIt]),
  },
  'a media type that the agent does not take': {
    code: 'CONTENT_TYPE_NOT_SUPPORTED',
    run: (through) => send(through, '', { parts: [{ raw: 'AAAA', mediaType: 'image/png' }] }),
  },
  'a message without parts': {
    code: 'INVALID_PARAMS',
    run: (through) => send(through, '', { parts: [] }),
  },
  'a message without an id': {
    code: 'INVALID_PARAMS',
    run: (through) => send(through, 'do', { messageId: '' }),
  },
  'a message in the agent’s name': {
    code: 'INVALID_PARAMS',
    run: (through) => send(through, 'do', { role: 'ROLE_AGENT' }),
  },
  'a task and a context that do not belong together': {
    code: 'INVALID_PARAMS',
    run: async (through) => {
      const { id: taskId } = await taskOf(send(through, 'ask'));
      return send(through, 'do', { taskId, contextId: 'another' });
    },
  },
  'a negative length of history': {
    code: 'INVALID_PARAMS',
    run: (through) => through.call('getTask', { id: 'x', historyLength: -1 }, {}),
  },
  'pages of no tasks, and of too many': {
    code: 'INVALID_PARAMS',
    without: noList,
    run: each([
      (through) => through.call('listTasks', { pageSize: 0 }, {}),
      (through) => through.call('listTasks', { pageSize: 101 }, {}),
      (through) => through.call('listTasks', { pageToken: 'made up' }, {}),
    ]),
  },
  'a webhook where none may be': {
    code: 'INVALID_PARAMS',
    run: async (through) => {
      const { id: taskId } = await taskOf(send(through, 'ask'));
      const config = { taskId, url: 'http://10.0.0.1/' };
      return through.call('createTaskPushNotificationConfig', config, {});
    },
  },
  'a message id used for another message': {
    code: 'MESSAGE_ID_REUSED',
    run: async (through) => {
      const same = { messageId: crypto.randomUUID(), contextId: crypto.randomUUID() };
      await send(through, 'refuse', same);
      return send(through, 'do', same);
    },
  },
  'a version that nobody speaks, on every operation': {
    code: 'VERSION_NOT_SUPPORTED',
    run: each(everything, { headers: { 'A2A-Version': '9.9' } }),
  },
  'no credentials, on every operation': {
    server: 'guarded',
    code: 'UNAUTHENTICATED',
    run: each(everything),
  },
  'wrong credentials, on every operation': {
    server: 'guarded',
    code: 'UNAUTHENTICATED',
    run: each(everything, as('wrong')),
  },
  'a skill beyond the caller’s scopes': {
    server: 'guarded',
    code: 'PERMISSION_DENIED',
    run: each([sendIt, streamIt], as('guest')),
  },
  'a task of another caller, on every operation that names one': {
    server: 'guarded',
    code: 'TASK_NOT_FOUND',
    run: async (through, { hook }) => {
      const task = await taskOf(through.call('sendMessage', { message: say('ask') }, as('ann')));
      const { id } = task;
      const key = { taskId: id, id: 'hers' };
      const config = { ...key, url: hook };
      await through.call('createTaskPushNotificationConfig', config, as('ann'));
      const bob = as('bob');
      return each([
        () => through.call('getTask', { id }, bob),
        () => through.call('cancelTask', { id }, bob),
        () => through.stream('subscribeToTask', { id }, bob),
        () => through.call('sendMessage', { message: say('do', { taskId: id }) }, bob),
        () => through.call('createTaskPushNotificationConfig', config, bob),
        () => through.call('getTaskPushNotificationConfig', key, bob),
        () => through.call('listTaskPushNotificationConfigs', { taskId: id }, bob),
        () => through.call('deleteTaskPushNotificationConfig', key, bob),
      ])(through);
    },
  },
  'one request more than a caller may have under way': {
    server: 'busy',
    code: 'RATE_LIMITED',
    run: async (through, { server: { serving } }) => {
      using _place = await serving.router.service.callerLimits.request(anonymous, '127.0.0.1');
      return await through.call('getTask', missing, {});
    },
  },
  'one stream more than a caller may have open': {
    server: 'busy',
    code: 'RATE_LIMITED',
    run: async (through, { server: { serving } }) => {
      using _place = serving.router.service.callerLimits.stream(anonymous, '127.0.0.1');
      return await through.stream('sendStreamingMessage', { message: say('do') }, {});
    },
  },
};
