import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { agentCard } from '../testing/card-arbitraries.ts';
import * as arbitrary from '../testing/arbitraries.ts';
import type {
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '../model.ts';
import type { SendMessageConfiguration, SendMessageRequest } from '../request-model.ts';
import { type Codec, type Dialect, v03, v03Rest, v03RestTwice, v1 } from '../index.ts';

/** Over text, as on a wire. */
function overTheWire<T>(codec: Codec<T>, value: T): T {
  return codec.decode(JSON.parse(JSON.stringify(codec.encode(value))));
}

type Name = Exclude<keyof Dialect, 'version' | 'streamResponse'>;

const values = {
  message: arbitrary.message,
  task: arbitrary.task,
  sendMessageResponse: arbitrary.sendMessageResponse,
  agentCard,
  sendMessageRequest: arbitrary.sendMessageRequest,
  getTaskRequest: arbitrary.getTaskRequest,
  listTasksRequest: arbitrary.listTasksRequest,
  listTasksResponse: arbitrary.listTasksResponse,
  cancelTaskRequest: arbitrary.cancelTaskRequest,
  subscribeToTaskRequest: arbitrary.subscribeToTaskRequest,
  taskPushNotificationConfig: arbitrary.taskPushNotificationConfig,
  getTaskPushNotificationConfigRequest: arbitrary.deleteTaskPushNotificationConfigRequest,
  listTaskPushNotificationConfigsRequest: arbitrary.listTaskPushNotificationConfigsRequest,
  listTaskPushNotificationConfigsResponse: arbitrary.listTaskPushNotificationConfigsResponse,
  deleteTaskPushNotificationConfigRequest: arbitrary.deleteTaskPushNotificationConfigRequest,
  getExtendedAgentCardRequest: arbitrary.getExtendedAgentCardRequest,
} satisfies Record<Name, fc.Arbitrary<unknown>>;

/** What a dialect cannot carry, taken out of a value: exactly the losses its header lists. */
type Losses = { readonly [K in Name]?: (value: never) => unknown };

function lostPart(part: Part): Part {
  const { filename: _f, mediaType: _m, ...rest } = part;
  if (part.text !== undefined) return rest;
  if (part.data === undefined) return part;
  const isWrapped = typeof part.data !== 'object' || part.data === null || Array.isArray(part.data);
  const isEmpty = part.metadata !== undefined && Object.keys(part.metadata).length === 0;
  const { metadata: _, ...bare } = rest;
  return isWrapped && isEmpty ? bare : rest;
}
function lostMessage(message: Message): Message {
  return { ...message, parts: message.parts.map(lostPart) };
}
function lostTask(task: Task, ofMessage = lostMessage): Task {
  const { status, artifacts, history } = task;
  return {
    ...task,
    status: status.message ? { ...status, message: ofMessage(status.message) } : status,
    ...(artifacts && { artifacts: artifacts.map((a) => ({ ...a, parts: a.parts.map(lostPart) })) }),
    ...(history && { history: history.map(ofMessage) }),
  };
}
function lostStream(value: StreamResponse, ofMessage = lostMessage): StreamResponse {
  if ('task' in value) return { task: lostTask(value.task, ofMessage) };
  if ('message' in value) return { message: ofMessage(value.message) };
  if ('artifactUpdate' in value) {
    const { artifact } = value.artifactUpdate;
    const lost = { ...artifact, parts: artifact.parts.map(lostPart) };
    return { artifactUpdate: { ...value.artifactUpdate, artifact: lost } };
  }
  const { status } = value.statusUpdate;
  if (status.message === undefined) return value;
  return {
    statusUpdate: {
      ...value.statusUpdate,
      status: { ...status, message: ofMessage(status.message) },
    },
  };
}
function lostTenant<T extends { tenant?: string }>(value: T): Omit<T, 'tenant'> {
  const { tenant: _, ...rest } = value;
  return rest;
}
function lostConfiguration(value: SendMessageConfiguration): SendMessageConfiguration | undefined {
  const { returnImmediately, taskPushNotificationConfig, ...rest } = value;
  const push = taskPushNotificationConfig && lostTenant(taskPushNotificationConfig);
  const { taskId: _, ...inline } = (push ?? {}) as TaskPushNotificationConfig;
  const result = {
    ...rest,
    ...(push && { taskPushNotificationConfig: inline }),
    ...(returnImmediately && { returnImmediately }),
  };
  return Object.keys(result).length === 0 ? undefined : result;
}
function lostRequest(value: SendMessageRequest, ofMessage = lostMessage): object {
  const { configuration, ...rest } = lostTenant(value);
  const lost = configuration && lostConfiguration(configuration);
  return { ...rest, message: ofMessage(value.message), ...(lost && { configuration: lost }) };
}
const lostReferences = (message: Message): Message => {
  const { referenceTaskIds: _, ...rest } = lostMessage(message);
  return rest;
};

function legacyLosses(ofMessage: (message: Message) => Message) {
  return {
    message: ofMessage,
    task: (value: Task) => lostTask(value, ofMessage),
    sendMessageResponse: (value: StreamResponse) => lostStream(value, ofMessage),
    sendMessageRequest: (value: SendMessageRequest) => lostRequest(value, ofMessage),
    getTaskRequest: lostTenant,
    listTasksRequest: lostTenant,
    listTasksResponse: (value: { tasks: readonly Task[] }) => ({
      ...value,
      tasks: value.tasks.map((task) => lostTask(task, ofMessage)),
    }),
    cancelTaskRequest: lostTenant,
    subscribeToTaskRequest: lostTenant,
    taskPushNotificationConfig: lostTenant,
    getTaskPushNotificationConfigRequest: lostTenant,
    deleteTaskPushNotificationConfigRequest: lostTenant,
    getExtendedAgentCardRequest: lostTenant,
  };
}

const losses: { readonly [dialect: string]: Losses } = {
  v1: {},
  v03: {
    ...legacyLosses(lostMessage),
    listTaskPushNotificationConfigsRequest: (value: { taskId: string }) => ({
      taskId: value.taskId,
    }),
    listTaskPushNotificationConfigsResponse: (value: { configs: JsonObject[] }) => ({
      configs: value.configs.map(lostTenant),
      nextPageToken: '',
    }),
  },
  v03Rest: {
    ...legacyLosses(lostReferences),
    cancelTaskRequest: (value: { id: string }) => ({ id: value.id }),
    listTaskPushNotificationConfigsRequest: lostTenant,
    listTaskPushNotificationConfigsResponse: (value: { configs: JsonObject[] }) => ({
      ...value,
      configs: value.configs.map(lostTenant),
    }),
  },
};

describe.each(Object.entries({ v1, v03, v03Rest }))('%s', (dialectName, dialect) => {
  test.each(Object.keys(values) as Name[])('%s decodes to what was encoded', (name) => {
    const codec = dialect[name] as Codec<unknown>;
    const lose = (losses[dialectName]?.[name] ?? ((value) => value)) as (value: unknown) => unknown;
    fc.assert(
      fc.property(values[name] as fc.Arbitrary<unknown>, (value) => {
        expect(overTheWire(codec, value)).toEqual(lose(value));
      }),
      { numRuns: 60 },
    );
  });

  test('streamResponse decodes to what was encoded, final or not', () => {
    const ofMessage = dialectName === 'v03Rest' ? lostReferences : lostMessage;
    fc.assert(
      fc.property(arbitrary.streamResponse, fc.boolean(), (value, final) => {
        const wire = JSON.parse(JSON.stringify(dialect.streamResponse.encode(value, final)));
        const expected = dialectName === 'v1' ? value : lostStream(value, ofMessage);
        expect(dialect.streamResponse.decode(wire)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

test('v1 encodes every value as itself', () => {
  const { version: _, ...codecs } = v1;
  for (const codec of Object.values(codecs)) {
    const value = {} as never;
    expect(codec.encode(value, false)).toBe(value);
  }
});

test('files that are encoded twice need no Buffer, which browsers lack', () => {
  const sent: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ raw: '+/8=' }] };
  vi.stubGlobal('Buffer', undefined);
  let wire: unknown;
  let read: unknown;
  try {
    wire = v03RestTwice.message.encode(sent);
    read = v03RestTwice.message.decode(wire);
  } finally {
    vi.unstubAllGlobals();
  }
  expect(wire).toMatchObject({ content: [{ file: { fileWithBytes: 'Ky84PQ==' } }] });
  expect(read).toEqual(sent);
});
