import {
  isJsonObject,
  Json,
  type JsonObject,
  type Message,
  type Operation,
  parseJsonRpcRequest,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskFold,
  taskBefore,
  textOf,
} from '../protocol/index.ts';

type JsonRpcRequest = ReturnType<typeof parseJsonRpcRequest>;

/** Method names of RockBot's gateway that A2A lacks. */
const methods: Readonly<Record<string, string>> = {
  'message/sendStream': 'SendStreamingMessage',
  ListTaskPushNotificationConfig: 'ListTaskPushNotificationConfigs',
};
const roles: Readonly<Record<string, string>> = {
  user: 'ROLE_USER',
  agent: 'ROLE_AGENT',
  assistant: 'ROLE_AGENT',
};

/**
 * Converts a request of a client of RockBot's gateway to A2A 1.0: its method names, lower-case roles and
 * missing message ids. Webhooks can be nested in `config`, as in drafts of 1.0. Requests of A2A 1.0 and
 * 0.3 stay unchanged.
 */
export function asRockbotClient(request: JsonRpcRequest, newId: () => string): JsonRpcRequest {
  const { params } = request;
  if (request.method === 'CreateTaskPushNotificationConfig') {
    return { ...request, params: withoutNesting(params) };
  }
  const message = isJsonObject(params) ? params['message'] : undefined;
  // RockBot and A2A 0.3 share this method name. Parts of 0.3 have a `kind`.
  const isOurs = request.method === 'message/send' && isJsonObject(message) && !hasKinds(message);
  const method = isOurs ? 'SendMessage' : (methods[request.method] ?? request.method);
  if (!isJsonObject(message) || !/^Send(?:Streaming)?Message$/.test(method)) {
    return { ...request, method };
  }
  const { role, messageId } = message;
  const said = {
    ...message,
    role: typeof role === 'string' ? (roles[role.toLowerCase()] ?? role) : (role ?? 'ROLE_USER'),
    messageId: messageId ?? newId(),
  };
  return { ...request, method, params: { ...params, message: said } };
}

function withoutNesting(params: JsonRpcRequest['params']): JsonRpcRequest['params'] {
  if (!isJsonObject(params) || !isJsonObject(params['config'])) return params;
  const { config, configId, ...rest } = params;
  return { ...rest, ...(configId !== undefined && { id: configId }), ...config };
}

function hasKinds({ parts }: JsonObject): boolean {
  return Array.isArray(parts) && parts.some((part) => isJsonObject(part) && 'kind' in part);
}

/** Operations whose results contain a task. */
export const answersWithTask: readonly Operation[] = [
  'sendMessage',
  'sendStreamingMessage',
  'getTask',
  'subscribeToTask',
  'cancelTask',
];

/**
 * Rewrites results for clients of RockBot's gateway. These read only the status message of a completed
 * task, so it gets the text of the artifacts. Create one for each request: it keeps the artifacts of a
 * stream.
 */
export class RockbotAnswers {
  #fold: TaskFold | undefined;

  /** Rewrites the JSON text of a `SendMessage` result, or of a task. */
  answer(text: string): string {
    const { value } = Json.fromText<SendMessageResponse | Task>(text);
    if ('message' in value) return text;
    if ('task' in value) return JSON.stringify({ task: withText(value.task) });
    return JSON.stringify(withText(value));
  }

  event(event: StreamResponse): StreamResponse {
    if ('message' in event) return event;
    this.#fold ??= new TaskFold('task' in event ? event.task : taskBefore(event));
    this.#fold.apply(event);
    if ('artifactUpdate' in event) return event;
    const { status } = withText(this.#fold.toTask());
    return 'task' in event
      ? { task: { ...event.task, status } }
      : { statusUpdate: { ...event.statusUpdate, status } };
  }
}

function withText(task: Task): Task {
  const { id, contextId, status, artifacts = [] } = task;
  const { state, message } = status;
  const text = textOf({ artifacts, status: { state } });
  const hasSaid = message !== undefined && textOf(message) !== '';
  if (state !== 'TASK_STATE_COMPLETED' || hasSaid || text === '') return task;
  const said: Message = {
    messageId: `${id}.text`,
    contextId,
    taskId: id,
    role: 'ROLE_AGENT',
    ...message,
    parts: [{ text }, ...(message?.parts ?? [])],
  };
  return { ...task, status: { ...status, message: said } };
}
