import { expect } from 'vitest';
import type { Message, StreamResponse } from '../../src/protocol/index.ts';
import {
  anotherTime,
  as,
  codeOf,
  eventsOf,
  finished,
  immediately,
  in03,
  in03Grpc,
  in1x,
  noList,
  noTenants,
  openStream,
  type ResultRow,
  say,
  send,
  subscribe,
  taskOf,
} from './row.ts';

/** What every binding must answer alike. */
export const results: { readonly [name: string]: ResultRow } = {
  'SendMessage, blocking, with parts of every kind': {
    run: (through) => send(through, 'do', { metadata: { a: [1, null] }, extensions: ['urn:e'] }),
    expected: {
      task: {
        status: { state: 'TASK_STATE_COMPLETED', timestamp: 'time' },
        history: [{ role: 'ROLE_USER', metadata: { a: [1, null] } }, { role: 'ROLE_AGENT' }],
        artifacts: [
          {
            name: 'everything',
            parts: [
              { text: 'äöü 🎈', metadata: { language: 'de' } },
              { raw: 'AP+A', filename: 'a.bin' },
              { raw: '', mediaType: 'application/octet-stream' },
              { url: 'https://example.com/a.png', mediaType: 'image/png', filename: 'a.png' },
              { data: { nested: [1, -0.5, 'x', null, { deep: true }], empty: {} } },
              { data: 7 },
              { data: null },
            ],
          },
        ],
      },
    },
  },
  'SendMessage, immediate': {
    run: async (through) => {
      const task = await taskOf(send(through, 'hold', {}, immediately));
      await through.call('cancelTask', { id: task.id }, {});
      return task;
    },
    expected: { status: { state: 'TASK_STATE_SUBMITTED' }, history: [{ role: 'ROLE_USER' }] },
  },
  'SendMessage, continuing a task that asked': {
    run: async (through) => {
      const asked = await taskOf(send(through, 'ask'));
      const { id: taskId } = asked;
      return [asked, await send(through, 'do', { taskId }), await send(through, 'ask')];
    },
    expected: [
      { status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'what?' }] } } },
      finished('TASK_STATE_COMPLETED'),
      finished('TASK_STATE_INPUT_REQUIRED'),
    ],
  },
  'SendMessage, answered by a message': {
    run: (through) => send(through, 'reply'),
    expected: {
      message: {
        role: 'ROLE_AGENT',
        parts: [{ text: 'hello' }, { data: { polite: true } }],
        metadata: { tone: 'kind' },
      },
    },
  },
  'SendMessage, rejected': {
    run: (through) => send(through, 'refuse'),
    expected: finished('TASK_STATE_REJECTED'),
  },
  'SendMessage, with a history of one message': {
    run: (through) => send(through, 'do', {}, { historyLength: 1 }),
    expected: { task: { history: [{ role: 'ROLE_AGENT' }] } },
  },
  'SendMessage, the same message twice': {
    run: async (through) => {
      const same = { messageId: crypto.randomUUID(), contextId: crypto.randomUUID() };
      const first = await taskOf(send(through, 'do', same));
      return [first.id, (await taskOf(send(through, 'do', same))).id];
    },
    expected: ['id 1', 'id 1'],
  },
  'SendStreamingMessage, again while the first one is in flight': {
    run: async (through) => {
      const request = { message: say('hold', { contextId: crypto.randomUUID() }) };
      const stream = await openStream(through, request);
      const again = await openStream(through, request);
      if (!('task' in again.first)) throw new Error('the first event is not a task');
      await through.call('cancelTask', { id: again.first.task.id }, {});
      await stream.rest();
      return [again.first, (await again.rest()).at(-1)];
    },
    expected: [
      { task: { status: { state: 'TASK_STATE_WORKING' } } },
      { statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } },
    ],
  },
  'SendMessage, the same first message twice, with and without an Idempotency-Key': {
    run: async (through) => {
      const idOf = async (message: Message, headers: Record<string, string>) =>
        (await taskOf(through.call('sendMessage', { message }, { headers }))).id;
      const twice = async (headers: Record<string, string>) => {
        const message = say('refuse');
        return [await idOf(message, headers), await idOf(message, headers)];
      };
      // As long as a key may be.
      const key = crypto.randomUUID().padEnd(256, 'k');
      return { with: await twice({ 'Idempotency-Key': key }), without: await twice({}) };
    },
    expected: { with: ['id 1', 'id 1'], without: ['id 2', 'id 3'] },
  },
  'SendMessage, in a context of the caller’s choice': {
    run: async (through) => {
      const contextId = crypto.randomUUID();
      const task = await taskOf(send(through, 'refuse', { contextId }));
      return task.contextId === contextId;
    },
    expected: true,
  },
  SendStreamingMessage: {
    run: (through) => eventsOf(through, { message: say('chunks') }),
    expected: [
      { task: { status: { state: 'TASK_STATE_SUBMITTED' } } },
      { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { artifact: { artifactId: 'story', parts: [{ text: 'once ' }] } } },
      { artifactUpdate: { artifact: { parts: [{ text: 'upon' }] }, append: true } },
      {
        artifactUpdate: {
          artifact: { parts: [{ text: ' a time' }] },
          append: true,
          lastChunk: true,
        },
      },
      { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
    ],
  },
  'SendStreamingMessage, until the task asks': {
    run: (through) => eventsOf(through, { message: say('ask') }),
    expected: [
      { task: { status: { state: 'TASK_STATE_SUBMITTED' } } },
      { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } },
    ],
  },
  'SendStreamingMessage, answered by a message': {
    run: (through) => eventsOf(through, { message: say('reply') }),
    expected: [{ message: { parts: [{ text: 'hello' }, { data: { polite: true } }] } }],
  },
  GetTask: {
    run: async (through) => {
      const { id } = await taskOf(send(through, 'do'));
      return through.call('getTask', { id }, {});
    },
    expected: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ name: 'everything' }] },
  },
  'GetTask, with a history of one message': {
    run: async (through) => {
      const { id } = await taskOf(send(through, 'do'));
      return through.call('getTask', { id, historyLength: 1 }, {});
    },
    expected: { history: [{ role: 'ROLE_AGENT' }] },
  },
  'GetTask, without history': {
    without: in03Grpc('a length of 0 is not on the wire, and means no limit'),
    run: async (through) => {
      const { id } = await taskOf(send(through, 'do'));
      return 'history' in (await through.call('getTask', { id, historyLength: 0 }, {}));
    },
    expected: false,
  },
  'ListTasks, by context and state, in pages': {
    without: noList,
    run: async (through) => {
      const contextId = crypto.randomUUID();
      for (const text of ['refuse', 'do', 'chunks']) {
        await send(through, text, { contextId });
        await anotherTime();
      }
      const status = 'TASK_STATE_COMPLETED' as const;
      const filter = { contextId, status, pageSize: 1, includeArtifacts: true, historyLength: 1 };
      const first = await through.call('listTasks', filter, {});
      const pageToken = first.nextPageToken;
      const second = await through.call('listTasks', { ...filter, pageToken }, {});
      const all = await through.call('listTasks', { contextId }, {});
      return [{ ...first, nextPageToken: pageToken !== '' }, second, all];
    },
    expected: [
      { tasks: [{ artifacts: [{ artifactId: 'story' }] }], totalSize: 2, nextPageToken: true },
      { tasks: [{ artifacts: [{ name: 'everything' }] }], pageSize: 1, nextPageToken: '' },
      { totalSize: 3, pageSize: 50 },
    ],
  },
  'CancelTask, and again': {
    without: in03('a canceled task cannot be canceled'),
    run: async (through) => {
      const { id } = await taskOf(send(through, 'hold', {}, immediately));
      const request = { id };
      return [
        await through.call('cancelTask', request, {}),
        await through.call('cancelTask', request, {}),
      ];
    },
    expected: [
      { status: { state: 'TASK_STATE_CANCELED' } },
      { status: { state: 'TASK_STATE_CANCELED' } },
    ],
  },
  'CancelTask, of a task that asked': {
    run: async (through) => {
      const { id } = await taskOf(send(through, 'ask'));
      return through.call('cancelTask', { id }, {});
    },
    expected: { status: { state: 'TASK_STATE_CANCELED' } },
  },
  'SubscribeToTask, until the task ends': {
    run: async (through) => {
      const { id } = await taskOf(send(through, 'ask'));
      const events: StreamResponse[] = [];
      for await (const { response } of await subscribe(through, id)) {
        events.push(response);
        if (events.length === 1) await through.call('cancelTask', { id }, {});
      }
      return events;
    },
    expected: [
      { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } },
      { statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } },
    ],
  },
  '0.3: TaskSubscription to a task that has ended: the task, then the end': {
    without: in1x('1.x answers UnsupportedOperation'),
    run: async (through) => {
      const { id } = await taskOf(send(through, 'refuse'));
      const frames = await Array.fromAsync(await subscribe(through, id));
      return frames.map(({ response }) => response);
    },
    expected: [{ task: { status: { state: 'TASK_STATE_REJECTED' } } }],
  },
  'push configurations: create, get, list, replace, delete': {
    run: async (through, { hook }) => {
      const { id: taskId } = await taskOf(send(through, 'ask'));
      const config = {
        taskId,
        url: hook,
        token: 'secret',
        authentication: { scheme: 'Bearer', credentials: 'secret' },
      };
      const made = await through.call('createTaskPushNotificationConfig', config, {});
      const named = { ...config, id: 'mine' };
      const own = await through.call('createTaskPushNotificationConfig', named, {});
      const moved = { taskId, id: 'mine', url: `${hook}/2` };
      const replaced = await through.call('createTaskPushNotificationConfig', moved, {});
      const key = { taskId, id: 'mine' };
      const got = await through.call('getTaskPushNotificationConfig', key, {});
      const listed = await through.call('listTaskPushNotificationConfigs', { taskId }, {});
      const gone = await through.call('deleteTaskPushNotificationConfig', key, {});
      const again = await through.call('deleteTaskPushNotificationConfig', key, {});
      const left = await through.call('listTaskPushNotificationConfigs', { taskId }, {});
      return { made, own, replaced, got, listed, gone: [gone, again], left };
    },
    expected: {
      made: { id: expect.stringMatching(/^id /) },
      own: { id: 'mine', authentication: { scheme: 'Bearer' } },
      replaced: { id: 'mine' },
      got: { id: 'mine' },
      listed: { configs: [{}, {}], nextPageToken: '' },
      left: { configs: [{}] },
    },
  },
  'a push configuration inside a message': {
    run: async (through, { hook }) => {
      const push = { taskPushNotificationConfig: { id: 'inline', url: hook } };
      const { id: taskId } = await taskOf(send(through, 'ask', {}, push));
      return through.call('getTaskPushNotificationConfig', { taskId, id: 'inline' }, {});
    },
    expected: { id: 'inline' },
  },
  GetExtendedAgentCard: {
    run: (through) => through.call('getExtendedAgentCard', {}, as('ann')),
    expected: {
      name: 'actor, for friends',
      securityRequirements: [{ schemes: { login: { list: ['act'] } } }, { schemes: { key: {} } }],
      skills: [{ id: 'act', securityRequirements: [{ schemes: { login: { list: ['act'] } } }] }],
    },
  },
  'a tenant of the request scopes it': {
    without: noTenants,
    run: async (through) => {
      const request = { tenant: 'acme', message: say('refuse') };
      const { id } = await taskOf(through.call('sendMessage', request, {}));
      const task = await through.call('getTask', { tenant: 'acme', id }, {});
      const elsewhere = await codeOf(() => through.call('getTask', { id }, {}));
      return { task, elsewhere };
    },
    expected: { task: { status: {} }, elsewhere: 'TASK_NOT_FOUND' },
  },
};
