import { expect } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import { anonymous } from '../../src/tasks/index.ts';
import {
  as,
  codeOf,
  type ErrorRow,
  hasList,
  immediately,
  in03,
  in1x,
  noList,
  noTenants,
  say,
  send,
  subscribe,
  taskOf,
} from './row.ts';

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
  (through, more = {}) => through.call('listTasks', {}, more),
];
const [sendIt, streamIt, getIt, cancelIt, subscribeToIt, ...pushAndCard] = everything;
const pushes = pushAndCard.slice(0, 4);

/** All that the binding has, which must fail in the same way. */
const all =
  (more: object = {}) =>
  (through: Transport): Promise<unknown> =>
    each(hasList(through) ? everything : everything.slice(0, -1), more)(through);

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

/** Who asks: what comes with each call, and the tenant it is for. */
type Asking = readonly [more: object, tenant?: string];

/** Makes a task, and tries every operation that names one on it as somebody else. */
async function onTaskOf(
  through: Transport,
  hook: string,
  { hers, theirs }: { readonly hers: Asking; readonly theirs: Asking },
): Promise<unknown> {
  const inTenant = <T extends object>([, tenant]: Asking, request: T): T => ({
    ...request,
    ...(tenant !== undefined && { tenant }),
  });
  const made = inTenant(hers, { message: say('ask') });
  const { id, contextId } = await taskOf(through.call('sendMessage', made, hers[0]));
  const key = { taskId: id, id: 'hers' };
  const config = { ...key, url: hook };
  await through.call('createTaskPushNotificationConfig', inTenant(hers, config), hers[0]);
  const [other] = theirs;
  const their = <T extends object>(request: T): T => inTenant(theirs, request);
  const message = say('do', { taskId: id });
  if (hasList(through)) {
    const listed = async (asking: Asking) => {
      const { tasks } = await through.call('listTasks', inTenant(asking, { contextId }), asking[0]);
      return tasks.map((task) => task.id);
    };
    expect({ hers: await listed(hers), theirs: await listed(theirs) }).toEqual({
      hers: [id],
      theirs: [],
    });
  }
  return each([
    () => through.call('getTask', their({ id }), other),
    () => through.call('cancelTask', their({ id }), other),
    () => through.stream('subscribeToTask', their({ id }), other),
    () => through.call('sendMessage', their({ message }), other),
    () => through.stream('sendStreamingMessage', their({ message }), other),
    () => through.call('createTaskPushNotificationConfig', their(config), other),
    () => through.call('getTaskPushNotificationConfig', their(key), other),
    () => through.call('listTaskPushNotificationConfigs', their({ taskId: id }), other),
    () => through.call('deleteTaskPushNotificationConfig', their(key), other),
  ])(through);
}

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
  'cancelling a canceled task': {
    code: 'TASK_NOT_CANCELABLE',
    without: in1x('1.x answers with the task'),
    run: async (through) => {
      const { id } = await taskOf(send(through, 'ask'));
      await through.call('cancelTask', { id }, {});
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
    run: all({ headers: { 'A2A-Version': '9.9' } }),
  },
  'no credentials, on every operation': {
    server: 'guarded',
    code: 'UNAUTHENTICATED',
    run: all(),
  },
  'wrong credentials, on every operation': {
    server: 'guarded',
    code: 'UNAUTHENTICATED',
    run: all(as('wrong')),
  },
  'a skill beyond the caller’s scopes': {
    server: 'guarded',
    code: 'PERMISSION_DENIED',
    run: each([sendIt, streamIt], as('guest')),
  },
  'a task of another caller, on every operation that names one': {
    server: 'guarded',
    code: 'TASK_NOT_FOUND',
    run: (through, { hook }) => onTaskOf(through, hook, { hers: [as('ann')], theirs: [as('bob')] }),
  },
  'a task of another tenant, on every operation that names one': {
    without: noTenants,
    code: 'TASK_NOT_FOUND',
    run: (through, { hook }) =>
      onTaskOf(through, hook, { hers: [{}, 'acme'], theirs: [{}, 'globex'] }),
  },
  'a message that is still being worked on': {
    code: 'MESSAGE_IN_FLIGHT',
    run: async (through) => {
      const same = { messageId: crypto.randomUUID(), contextId: crypto.randomUUID() };
      const { id } = await taskOf(send(through, 'hold', same, immediately));
      try {
        return await send(through, 'hold', same);
      } finally {
        await through.call('cancelTask', { id }, {});
      }
    },
  },
  'an idempotency key that is too long': {
    code: 'INVALID_PARAMS',
    run: each([sendIt, streamIt], { headers: { 'Idempotency-Key': 'k'.repeat(257) } }),
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
