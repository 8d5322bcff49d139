import { isJsonObject, type JsonObject, parseJsonRpcRequest } from '../protocol/index.ts';

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
 * The request of a client of RockBot's gateway as A2A 1.0 writes it: with its method names, and with
 * messages whose role is in small letters and whose id may be missing. Webhooks may be nested in
 * `config`, as drafts of 1.0 had them. Requests of A2A 1.0 and 0.3 stay as they are.
 */
export function asRockbotClient(request: JsonRpcRequest, newId: () => string): JsonRpcRequest {
  const { params } = request;
  if (request.method === 'CreateTaskPushNotificationConfig') {
    return { ...request, params: withoutNesting(params) };
  }
  const message = isJsonObject(params) ? params['message'] : undefined;
  // Both have this method; parts of 0.3 name their kind.
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
