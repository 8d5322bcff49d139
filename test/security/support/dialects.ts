import type { Operation } from '../../../src/protocol/index.ts';

/** What an operation is asked with, in words that all dialects can say. */
export interface Parameters {
  readonly id?: string;
  readonly configId?: string;
  readonly contextId?: string;
  readonly messageId?: string;
  readonly text?: string;
  readonly push?: PushConfig;
  /** 1.0 only, as a field. */
  readonly tenant?: string;
  readonly immediately?: boolean;
}

export interface PushConfig {
  readonly id?: string;
  readonly url: string;
  readonly token?: string;
  readonly scheme?: string;
  readonly credentials?: string;
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One way to say things over HTTP. */
export interface Dialect {
  readonly name: string;
  readonly version: '0.3' | '1.0';
  readonly isRpc: boolean;
  request(operation: Operation, parameters?: Parameters): WireRequest;
}

const json = { 'content-type': 'application/json' };
const v1 = { ...json, 'a2a-version': '1.0' };
const query = (values: Readonly<Record<string, string | undefined>>): string => {
  const set = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  return set.length === 0 ? '' : `?${new URLSearchParams(set).toString()}`;
};

function v1Push({ scheme, credentials, ...rest }: PushConfig): object {
  return {
    ...rest,
    ...(scheme !== undefined && {
      authentication: { scheme, ...(credentials && { credentials }) },
    }),
  };
}

function v03Push({ scheme, credentials, ...rest }: PushConfig): object {
  return {
    ...rest,
    ...(scheme !== undefined && {
      authentication: { schemes: [scheme], ...(credentials && { credentials }) },
    }),
  };
}

function v1Send(given: Parameters): object {
  const { id, contextId, text = 'hello', push, tenant, immediately } = given;
  return {
    ...(tenant !== undefined && { tenant }),
    message: {
      messageId: given.messageId ?? crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(id !== undefined && { taskId: id }),
      ...(contextId !== undefined && { contextId }),
    },
    configuration: {
      returnImmediately: immediately === true,
      ...(push !== undefined && { taskPushNotificationConfig: v1Push(push) }),
    },
  };
}

function v03Send(given: Parameters, isRest: boolean): object {
  const { id, contextId, text = 'hello', push, immediately } = given;
  const part = isRest ? { text } : { kind: 'text', text };
  return {
    message: {
      ...(!isRest && { kind: 'message' }),
      messageId: given.messageId ?? crypto.randomUUID(),
      role: isRest ? 'ROLE_USER' : 'user',
      [isRest ? 'content' : 'parts']: [part],
      ...(id !== undefined && { taskId: id }),
      ...(contextId !== undefined && { contextId }),
    },
    configuration: {
      blocking: immediately !== true,
      ...(push !== undefined && {
        [isRest ? 'pushNotification' : 'pushNotificationConfig']: v03Push(push),
      }),
    },
  };
}

const v1Methods: Record<Operation, (given: Parameters) => [string, object]> = {
  sendMessage: (given) => ['SendMessage', v1Send(given)],
  sendStreamingMessage: (given) => ['SendStreamingMessage', v1Send(given)],
  getTask: ({ id, tenant }) => ['GetTask', { id, tenant }],
  listTasks: ({ contextId, tenant }) => ['ListTasks', { contextId, tenant }],
  cancelTask: ({ id, tenant }) => ['CancelTask', { id, tenant }],
  subscribeToTask: ({ id, tenant }) => ['SubscribeToTask', { id, tenant }],
  createTaskPushNotificationConfig: ({ id, push = { url: '' }, tenant }) => [
    'CreateTaskPushNotificationConfig',
    { taskId: id, tenant, ...v1Push(push) },
  ],
  getTaskPushNotificationConfig: ({ id, configId, tenant }) => [
    'GetTaskPushNotificationConfig',
    { taskId: id, id: configId, tenant },
  ],
  listTaskPushNotificationConfigs: ({ id, tenant }) => [
    'ListTaskPushNotificationConfigs',
    { taskId: id, tenant },
  ],
  deleteTaskPushNotificationConfig: ({ id, configId, tenant }) => [
    'DeleteTaskPushNotificationConfig',
    { taskId: id, id: configId, tenant },
  ],
  getExtendedAgentCard: ({ tenant }) => ['GetExtendedAgentCard', { tenant }],
};

const v03Methods: Record<Operation, (given: Parameters) => [string, object]> = {
  sendMessage: (given) => ['message/send', v03Send(given, false)],
  sendStreamingMessage: (given) => ['message/stream', v03Send(given, false)],
  getTask: ({ id }) => ['tasks/get', { id }],
  listTasks: ({ contextId }) => ['tasks/list', { contextId }],
  cancelTask: ({ id }) => ['tasks/cancel', { id }],
  subscribeToTask: ({ id }) => ['tasks/resubscribe', { id }],
  createTaskPushNotificationConfig: ({ id, push = { url: '' } }) => [
    'tasks/pushNotificationConfig/set',
    { taskId: id, pushNotificationConfig: v03Push(push) },
  ],
  getTaskPushNotificationConfig: ({ id, configId }) => [
    'tasks/pushNotificationConfig/get',
    { id, pushNotificationConfigId: configId },
  ],
  listTaskPushNotificationConfigs: ({ id }) => ['tasks/pushNotificationConfig/list', { id }],
  deleteTaskPushNotificationConfig: ({ id, configId }) => [
    'tasks/pushNotificationConfig/delete',
    { id, pushNotificationConfigId: configId },
  ],
  getExtendedAgentCard: () => ['agent/getAuthenticatedExtendedCard', {}],
};

function rpc(
  methods: typeof v1Methods,
  headers: Readonly<Record<string, string>>,
): Dialect['request'] {
  return (operation, parameters = {}) => {
    const [method, params] = methods[operation](parameters);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return { method: 'POST', path: '/', headers, body };
  };
}

/** `[method, path, body]` of an operation, below the prefix of its version. */
function restTarget(
  operation: Operation,
  given: Parameters,
  isV03: boolean,
): readonly [WireRequest['method'], string, object?] {
  const { id = '', configId = '', contextId, tenant, push = { url: '' } } = given;
  const send = isV03 ? v03Send(given, true) : v1Send(given);
  const configs = `/tasks/${id}/pushNotificationConfigs`;
  const named = query({ tenant });
  switch (operation) {
    case 'sendMessage':
      return ['POST', '/message:send', send];
    case 'sendStreamingMessage':
      return ['POST', '/message:stream', send];
    case 'getTask':
      return ['GET', `/tasks/${id}${named}`];
    case 'listTasks':
      return ['GET', `/tasks${query({ contextId, tenant })}`];
    case 'cancelTask':
      return ['POST', `/tasks/${id}:cancel`, { ...(tenant !== undefined && { tenant }) }];
    case 'subscribeToTask':
      return ['GET', `/tasks/${id}:subscribe${named}`];
    case 'createTaskPushNotificationConfig':
      return isV03
        ? ['POST', configs, { pushNotificationConfig: v03Push(push) }]
        : ['POST', configs, { ...(tenant !== undefined && { tenant }), ...v1Push(push) }];
    case 'getTaskPushNotificationConfig':
      return ['GET', `${configs}/${configId}${named}`];
    case 'listTaskPushNotificationConfigs':
      return ['GET', `${configs}${named}`];
    case 'deleteTaskPushNotificationConfig':
      return ['DELETE', `${configs}/${configId}${named}`];
    case 'getExtendedAgentCard':
      return ['GET', isV03 ? '/card' : `/extendedAgentCard${named}`];
  }
}

function rest(isV03: boolean): Dialect['request'] {
  return (operation, parameters = {}) => {
    const [method, path, body] = restTarget(operation, parameters, isV03);
    return {
      method,
      path: isV03 ? `/v1${path}` : path,
      headers: isV03 ? json : v1,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
  };
}

export const dialects: readonly Dialect[] = [
  { name: 'JSON-RPC 1.0', version: '1.0', isRpc: true, request: rpc(v1Methods, v1) },
  { name: 'REST 1.0', version: '1.0', isRpc: false, request: rest(false) },
  { name: 'JSON-RPC 0.3', version: '0.3', isRpc: true, request: rpc(v03Methods, json) },
  { name: 'REST 0.3', version: '0.3', isRpc: false, request: rest(true) },
];

/** What came back, as far as a caller can tell. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

/** Sends a request and reads the answer to its end. */
export async function send(
  base: string,
  { method, path, headers, body }: WireRequest,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { ...headers, ...more },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  // A stream that 0.3 refuses is one event with the error.
  const [, event] = /^data: (.*)\n\n$/.exec(text) ?? [];
  const json = type.includes('json') ? text : (event ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json === '' ? undefined : (JSON.parse(json) as unknown),
  };
}

/** The result of an operation, out of its envelope. */
export function resultOf({ isRpc }: Dialect, { body, text, status }: Answer): unknown {
  const value = isRpc ? (body as { result?: unknown } | undefined)?.result : body;
  if (value === undefined || status !== 200) throw new Error(`${status} ${text}`);
  return value;
}

interface Refusal {
  readonly data?: readonly { readonly reason?: string }[];
  readonly details?: readonly { readonly reason?: string }[];
}

/** The reason of a refusal. In 0.3 REST the body is the error itself. */
export function codeOf({ body, text }: Answer): string {
  const { error, ...bare } = (body ?? {}) as Refusal & { readonly error?: Refusal };
  const { data, details } = error ?? bare;
  const reason = (data ?? details)?.find((detail) => detail.reason !== undefined)?.reason;
  if (reason === undefined) throw new Error(`no refusal: ${text}`);
  return reason;
}

/** The task of a send, whatever envelope it is in. */
export function taskOf(dialect: Dialect, answer: Answer): { id: string; contextId: string } {
  const result = resultOf(dialect, answer) as {
    id?: string;
    contextId?: string;
    task?: { id: string; contextId: string };
  };
  const { id = '', contextId = '' } = result.task ?? result;
  return { id, contextId };
}
