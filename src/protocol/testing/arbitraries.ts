/** Arbitrary values of the model, for property tests only. */
import * as fc from 'fast-check';
import type * as model from '../index.ts';
import { taskStates } from '../model.ts';

/** Optional members are absent, never undefined, as decoders return them. */
export function record<T>(
  shape: { readonly [K in keyof T]?: fc.Arbitrary<Exclude<T[K], undefined>> },
  required: readonly (keyof T & string)[],
): fc.Arbitrary<T> {
  return loose(shape, required) as fc.Arbitrary<T>;
}

export function loose(shape: object, required: readonly string[]): fc.Arbitrary<object> {
  const members = shape as Record<string, fc.Arbitrary<unknown>>;
  return fc.record(members, { requiredKeys: [...required] });
}

/** Values that `JSON.parse` can return, without members named `__proto__`. */
export const json: fc.Arbitrary<model.JsonValue> = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value), dropProto) as model.JsonValue);

function dropProto(this: unknown, key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

export const jsonObject = fc
  .dictionary(
    fc.string().filter((key) => key !== '__proto__'),
    json,
    { maxKeys: 4 },
  )
  .map((value): model.JsonObject => ({ ...value }));

export const id = fc.oneof(
  fc.uuid(),
  fc
    .string({ minLength: 1, maxLength: 40 })
    // oxlint-disable-next-line no-control-regex
    .filter((value) => !/[\u0000-\u001f\u007f]/.test(value)),
);
export const word = fc.string({ minLength: 1, maxLength: 20 });
export const words = fc.array(word, { maxLength: 3 });
const timestamp = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
export const url = fc.webUrl();

const partExtras = { metadata: jsonObject, filename: word, mediaType: word };
export const part: fc.Arbitrary<model.Part> = fc.oneof(
  record<model.Part>({ text: fc.string(), ...partExtras }, ['text']),
  record<model.Part>({ raw: fc.base64String(), ...partExtras }, ['raw']),
  record<model.Part>({ url, ...partExtras }, ['url']),
  record<model.Part>({ data: json, ...partExtras }, ['data']),
);
const parts = fc.array(part, { minLength: 1, maxLength: 3 });

const messageShape = {
  messageId: id,
  contextId: id,
  taskId: id,
  parts,
  metadata: jsonObject,
  extensions: words,
  referenceTaskIds: words,
};
const messageWith = (role: fc.Arbitrary<model.Role>): fc.Arbitrary<model.Message> =>
  record<model.Message>({ ...messageShape, role }, ['messageId', 'role', 'parts']);
export const message = messageWith(fc.constantFrom('ROLE_USER', 'ROLE_AGENT'));

export const artifact = record<model.Artifact>(
  {
    artifactId: id,
    name: word,
    description: word,
    parts,
    metadata: jsonObject,
    extensions: words,
  },
  ['artifactId', 'parts'],
);

export const taskState = fc.constantFrom(...taskStates);
const status = record<model.TaskStatus>({ state: taskState, message, timestamp }, ['state']);

export const task = record<model.Task>(
  {
    id,
    contextId: id,
    status,
    artifacts: fc.array(artifact, { maxLength: 2 }),
    history: fc.array(message, { maxLength: 2 }),
    metadata: jsonObject,
  },
  ['id', 'contextId', 'status'],
);

const statusUpdate = record<model.TaskStatusUpdateEvent>(
  { taskId: id, contextId: id, status, metadata: jsonObject },
  ['taskId', 'contextId', 'status'],
);
const artifactUpdate = record<model.TaskArtifactUpdateEvent>(
  {
    taskId: id,
    contextId: id,
    artifact,
    append: fc.boolean(),
    lastChunk: fc.boolean(),
    metadata: jsonObject,
  },
  ['taskId', 'contextId', 'artifact'],
);

export const sendMessageResponse: fc.Arbitrary<model.SendMessageResponse> = fc.oneof(
  task.map((value) => ({ task: value })),
  message.map((value) => ({ message: value })),
);
export const streamResponse: fc.Arbitrary<model.StreamResponse> = fc.oneof(
  sendMessageResponse,
  statusUpdate.map((value) => ({ statusUpdate: value })),
  artifactUpdate.map((value) => ({ artifactUpdate: value })),
);

export const taskPushNotificationConfig = record<model.TaskPushNotificationConfig>(
  {
    tenant: id,
    id,
    taskId: id,
    url,
    token: word,
    authentication: record<model.AuthenticationInfo>({ scheme: word, credentials: word }, [
      'scheme',
    ]),
  },
  ['url'],
);

const historyLength = fc.nat({ max: 1000 });
export const sendMessageRequest = record<model.SendMessageRequest>(
  {
    tenant: id,
    message: messageWith(fc.constant('ROLE_USER')),
    configuration: record<model.SendMessageConfiguration>(
      {
        acceptedOutputModes: words,
        taskPushNotificationConfig,
        historyLength,
        returnImmediately: fc.boolean(),
      },
      [],
    ),
    metadata: jsonObject,
  },
  ['message'],
);
export const getTaskRequest = record<model.GetTaskRequest>({ tenant: id, id, historyLength }, [
  'id',
]);
export const listTasksRequest = record<model.ListTasksRequest>(
  {
    tenant: id,
    contextId: id,
    status: fc.constantFrom(...taskStates.slice(1)),
    pageSize: fc.integer({ min: 1, max: 100 }),
    pageToken: word,
    historyLength,
    statusTimestampAfter: timestamp,
    includeArtifacts: fc.boolean(),
  },
  [],
);
export const listTasksResponse = fc.record({
  tasks: fc.array(task, { maxLength: 2 }),
  nextPageToken: fc.oneof(fc.constant(''), word),
  pageSize: fc.nat({ max: 100 }),
  totalSize: fc.nat(),
}) as fc.Arbitrary<model.ListTasksResponse>;
export const cancelTaskRequest = record<model.CancelTaskRequest>(
  { tenant: id, id, metadata: jsonObject },
  ['id'],
);
export const subscribeToTaskRequest = record<model.SubscribeToTaskRequest>({ tenant: id, id }, [
  'id',
]);
export const deleteTaskPushNotificationConfigRequest =
  record<model.DeleteTaskPushNotificationConfigRequest>({ tenant: id, taskId: id, id }, [
    'taskId',
    'id',
  ]);
export const listTaskPushNotificationConfigsRequest =
  record<model.ListTaskPushNotificationConfigsRequest>(
    {
      tenant: id,
      taskId: id,
      pageSize: fc.integer({ min: 1, max: 1000 }),
      pageToken: word,
    },
    ['taskId'],
  );
export const listTaskPushNotificationConfigsResponse = fc.record({
  configs: fc.array(taskPushNotificationConfig, { maxLength: 2 }),
  nextPageToken: fc.oneof(fc.constant(''), word),
}) as fc.Arbitrary<model.ListTaskPushNotificationConfigsResponse>;
export const getExtendedAgentCardRequest = record<model.GetExtendedAgentCardRequest>(
  { tenant: id },
  [],
);
