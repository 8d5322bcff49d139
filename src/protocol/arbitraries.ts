/** Arbitrary values of the model, for property tests only. */
import fc from 'fast-check';
import type * as model from './model.ts';
import { taskStates } from './model.ts';

/** Optional members are left out, never undefined: that is how they come out of a decoder. */
function record<T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }, required: (keyof T)[]) {
  return fc.record(shape, { requiredKeys: required }) as unknown as fc.Arbitrary<T>;
}

/** What `JSON.parse` can make, without members named `__proto__`. */
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
  .map((value) => ({ ...value }) as model.JsonObject);

export const id = fc.oneof(
  fc.uuid(),
  fc
    .string({ minLength: 1, maxLength: 40 })
    // oxlint-disable-next-line no-control-regex
    .filter((value) => !/[\u0000-\u001f\u007f]/.test(value)),
);
const word = fc.string({ minLength: 1, maxLength: 20 });
const words = fc.array(word, { maxLength: 3 });
const timestamp = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const url = fc.webUrl();

const partExtras = { metadata: jsonObject, filename: word, mediaType: word };
export const part: fc.Arbitrary<model.Part> = fc.oneof(
  record<model.Part>({ text: fc.string(), ...partExtras } as never, ['text']),
  record<model.Part>({ raw: fc.base64String(), ...partExtras } as never, ['raw']),
  record<model.Part>({ url, ...partExtras } as never, ['url']),
  record<model.Part>({ data: json, ...partExtras } as never, ['data']),
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
  record<model.Message>({ ...messageShape, role } as never, ['messageId', 'role', 'parts']);
export const message = messageWith(fc.constantFrom('ROLE_USER', 'ROLE_AGENT'));

export const artifact = record<model.Artifact>(
  {
    artifactId: id,
    name: word,
    description: word,
    parts,
    metadata: jsonObject,
    extensions: words,
  } as never,
  ['artifactId', 'parts'],
);

export const taskState = fc.constantFrom(...taskStates);
const status = record<model.TaskStatus>({ state: taskState, message, timestamp } as never, [
  'state',
]);

export const task = record<model.Task>(
  {
    id,
    contextId: id,
    status,
    artifacts: fc.array(artifact, { maxLength: 2 }),
    history: fc.array(message, { maxLength: 2 }),
    metadata: jsonObject,
  } as never,
  ['id', 'contextId', 'status'],
);

const statusUpdate = record<model.TaskStatusUpdateEvent>(
  { taskId: id, contextId: id, status, metadata: jsonObject } as never,
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
  } as never,
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
    authentication: record<model.AuthenticationInfo>({ scheme: word, credentials: word } as never, [
      'scheme',
    ]),
  } as never,
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
      } as never,
      [],
    ),
    metadata: jsonObject,
  } as never,
  ['message'],
);
export const getTaskRequest = record<model.GetTaskRequest>(
  { tenant: id, id, historyLength } as never,
  ['id'],
);
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
  } as never,
  [],
);
export const listTasksResponse = fc.record({
  tasks: fc.array(task, { maxLength: 2 }),
  nextPageToken: fc.oneof(fc.constant(''), word),
  pageSize: fc.nat({ max: 100 }),
  totalSize: fc.nat(),
}) as fc.Arbitrary<model.ListTasksResponse>;
export const cancelTaskRequest = record<model.CancelTaskRequest>(
  { tenant: id, id, metadata: jsonObject } as never,
  ['id'],
);
export const subscribeToTaskRequest = record<model.SubscribeToTaskRequest>(
  { tenant: id, id } as never,
  ['id'],
);
export const deleteTaskPushNotificationConfigRequest =
  record<model.DeleteTaskPushNotificationConfigRequest>({ tenant: id, taskId: id, id } as never, [
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
    } as never,
    ['taskId'],
  );
export const listTaskPushNotificationConfigsResponse = fc.record({
  configs: fc.array(taskPushNotificationConfig, { maxLength: 2 }),
  nextPageToken: fc.oneof(fc.constant(''), word),
}) as fc.Arbitrary<model.ListTaskPushNotificationConfigsResponse>;
export const getExtendedAgentCardRequest = record<model.GetExtendedAgentCardRequest>(
  { tenant: id } as never,
  [],
);

const scopes = fc
  .dictionary(
    word.filter((key) => key !== '__proto__'),
    fc.string(),
    { maxKeys: 3 },
  )
  .map((value) => ({ ...value }));
const flow = (shape: object, required: string[]) =>
  record<object>(
    { ...shape, scopes, refreshUrl: url } as never,
    [...required, 'scopes'] as never[],
  );
const flows = fc.oneof(
  flow({ authorizationUrl: url, tokenUrl: url, pkceRequired: fc.boolean() }, [
    'authorizationUrl',
    'tokenUrl',
  ]).map((value) => ({ authorizationCode: value })),
  flow({ tokenUrl: url }, ['tokenUrl']).map((value) => ({ clientCredentials: value })),
  flow({ deviceAuthorizationUrl: url, tokenUrl: url }, ['deviceAuthorizationUrl', 'tokenUrl']).map(
    (value) => ({ deviceCode: value }),
  ),
  flow({ authorizationUrl: url }, ['authorizationUrl']).map((value) => ({ implicit: value })),
  flow({ tokenUrl: url }, ['tokenUrl']).map((value) => ({ password: value })),
);
const scheme = (shape: object, required: string[]) =>
  record<object>({ ...shape, description: word } as never, required as never[]);
export const securityScheme = fc.oneof(
  scheme({ location: fc.constantFrom('query', 'header', 'cookie'), name: word }, [
    'location',
    'name',
  ]).map((value) => ({ apiKeySecurityScheme: value })),
  scheme({ scheme: word, bearerFormat: word }, ['scheme']).map((value) => ({
    httpAuthSecurityScheme: value,
  })),
  scheme({ flows, oauth2MetadataUrl: url }, ['flows']).map((value) => ({
    oauth2SecurityScheme: value,
  })),
  scheme({ openIdConnectUrl: url }, ['openIdConnectUrl']).map((value) => ({
    openIdConnectSecurityScheme: value,
  })),
  scheme({}, []).map((value) => ({ mtlsSecurityScheme: value })),
) as fc.Arbitrary<model.SecurityScheme>;

const names = word.filter((key) => key !== '__proto__');
const requirement = fc
  .dictionary(names, fc.record({ list: words }), { maxKeys: 2 })
  .map((schemes) => ({ schemes: { ...schemes } }));
const requirements = fc.array(requirement, { maxLength: 2 });
const skill = record<model.AgentSkill>(
  {
    id: word,
    name: word,
    description: word,
    tags: words,
    examples: words,
    inputModes: words,
    outputModes: words,
    securityRequirements: requirements,
  } as never,
  ['id', 'name', 'description', 'tags'],
);
export const agentCard = record<model.AgentCard>(
  {
    name: word,
    description: word,
    supportedInterfaces: fc.array(
      record<model.AgentInterface>(
        {
          url,
          protocolBinding: fc.constantFrom('JSONRPC', 'HTTP+JSON', 'GRPC'),
          tenant: id,
          protocolVersion: fc.constantFrom('0.3', '1.0', '1.1'),
        } as never,
        ['url', 'protocolBinding', 'protocolVersion'],
      ),
      { minLength: 1, maxLength: 3 },
    ),
    provider: fc.record({ url, organization: word }),
    version: word,
    documentationUrl: url,
    capabilities: record<model.AgentCapabilities>(
      {
        streaming: fc.boolean(),
        pushNotifications: fc.boolean(),
        extensions: fc.array(
          record<model.AgentExtension>(
            { uri: word, description: word, required: fc.boolean(), params: jsonObject } as never,
            ['uri'],
          ),
          { maxLength: 2 },
        ),
        extendedAgentCard: fc.boolean(),
      } as never,
      [],
    ),
    securitySchemes: fc
      .dictionary(names, securityScheme, { maxKeys: 3 })
      .map((value) => ({ ...value })),
    securityRequirements: requirements,
    defaultInputModes: words,
    defaultOutputModes: words,
    skills: fc.array(skill, { maxLength: 2 }),
    signatures: fc.array(
      record<model.AgentCardSignature>(
        { protected: word, signature: word, header: jsonObject } as never,
        ['protected', 'signature'],
      ),
      { maxLength: 1 },
    ),
    iconUrl: url,
  } as never,
  [
    'name',
    'description',
    'supportedInterfaces',
    'version',
    'capabilities',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
  ],
);
