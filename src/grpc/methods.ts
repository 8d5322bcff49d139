import {
  type AgentCard,
  type Operation,
  operations,
  type ProtocolVersion,
} from '../protocol/index.ts';
import { loadPackages, type WireType } from './proto-json.ts';

/** One method of one of the two services. */
export interface RpcMethod {
  /** The path of the HTTP/2 request: `/package.Service/Method`. */
  readonly path: string;
  readonly operation: Operation;
  readonly version: ProtocolVersion;
  readonly streams: boolean;
  /** Converts the JSON of the dialect: 1.x, or 0.3 as in REST. */
  readonly request: WireType;
  readonly response: WireType;
}

interface Names {
  readonly method: string;
  readonly request: string;
  readonly response: string;
}

function named(method: string, request: string, response: string): Names {
  return { method, request, response };
}

const push = 'TaskPushNotificationConfig';

const v1Names: { readonly [operation in Operation]: Names } = {
  sendMessage: named('SendMessage', 'SendMessageRequest', 'SendMessageResponse'),
  sendStreamingMessage: named('SendStreamingMessage', 'SendMessageRequest', 'StreamResponse'),
  getTask: named('GetTask', 'GetTaskRequest', 'Task'),
  listTasks: named('ListTasks', 'ListTasksRequest', 'ListTasksResponse'),
  cancelTask: named('CancelTask', 'CancelTaskRequest', 'Task'),
  subscribeToTask: named('SubscribeToTask', 'SubscribeToTaskRequest', 'StreamResponse'),
  createTaskPushNotificationConfig: named(`Create${push}`, push, push),
  getTaskPushNotificationConfig: named(`Get${push}`, `Get${push}Request`, push),
  listTaskPushNotificationConfigs: named(
    `List${push}s`,
    `List${push}sRequest`,
    `List${push}sResponse`,
  ),
  deleteTaskPushNotificationConfig: named(
    `Delete${push}`,
    `Delete${push}Request`,
    'google.protobuf.Empty',
  ),
  getExtendedAgentCard: named('GetExtendedAgentCard', 'GetExtendedAgentCardRequest', 'AgentCard'),
};

/** 0.3 has no operation to list tasks, and different names for some operations. */
const { listTasks: _, ...shared } = v1Names;
const v03Names: { readonly [operation in Exclude<Operation, 'listTasks'>]: Names } = {
  ...shared,
  subscribeToTask: named('TaskSubscription', 'TaskSubscriptionRequest', 'StreamResponse'),
  createTaskPushNotificationConfig: named(`Create${push}`, `Create${push}Request`, push),
  listTaskPushNotificationConfigs: named(
    `List${push}`,
    `List${push}Request`,
    `List${push}Response`,
  ),
  getExtendedAgentCard: named('GetAgentCard', 'GetAgentCardRequest', 'AgentCard'),
};

/** The methods of both services. */
export async function loadMethods(): Promise<readonly RpcMethod[]> {
  const packages = await loadPackages();
  const of = (version: ProtocolVersion, operation: Operation, names: Names): RpcMethod => {
    const { name, types } = packages[version];
    const request = types.wire(names.request);
    const response = types.wire(names.response);
    return {
      path: `/${name}.A2AService/${names.method}`,
      operation,
      version,
      streams: operations[operation].streams,
      request: version === '1.0' ? request : legacyRequest(operation, request),
      response: version === '1.0' ? response : legacyResponse(operation, response),
    };
  };
  return [
    ...Object.entries(v1Names).map(([name, names]) => of('1.0', name as Operation, names)),
    ...Object.entries(v03Names).map(([name, names]) => of('0.3', name as Operation, names)),
  ];
}

// The 0.3 service shares the dialect of 0.3 over REST, with two differences. Its proto does not distinguish
// an absent number or boolean from 0 or false. Its card has the form of 1.x, while JSON readers of 0.3
// expect the form of 0.3.

/** Decodes the requests of an operation, with the meaning of absent fields. */
function legacyRequest(operation: Operation, wire: WireType): WireType {
  switch (operation) {
    case 'sendMessage':
    case 'sendStreamingMessage':
      return { ...wire, decode: (bytes) => readSend(wire.decode(bytes) as SendJson) };
    case 'getTask':
      return { ...wire, decode: (bytes) => readHistoryLength(wire.decode(bytes) as LengthJson) };
    default:
      return wire;
  }
}

/** Encodes the responses of an operation with the field names of the 0.3 messages. */
function legacyResponse(operation: Operation, wire: WireType): WireType {
  if (operation !== 'getExtendedAgentCard') return wire;
  return { ...wire, encode: (json) => wire.encode(writeCard(json as AgentCard)) };
}

interface LengthJson {
  readonly historyLength?: number;
}

interface SendJson {
  readonly configuration?: LengthJson & { readonly blocking?: boolean };
}

/** Within a configuration, protobuf omits `blocking: false`. Without a configuration the default applies. */
function readSend(json: SendJson): SendJson {
  const { configuration } = json;
  if (configuration === undefined) return json;
  return {
    ...json,
    configuration: {
      ...readHistoryLength(configuration),
      blocking: configuration.blocking ?? false,
    },
  };
}

/** 0 means no limit. */
function readHistoryLength<T extends LengthJson>(json: T): Omit<T, 'historyLength'> {
  if (json.historyLength !== 0) return json;
  const { historyLength: _, ...rest } = json;
  return rest;
}

function writeCard(card: AgentCard): object {
  return {
    ...card,
    security: card.securityRequirements,
    skills: card.skills.map((skill) => ({ ...skill, security: skill.securityRequirements })),
  };
}
