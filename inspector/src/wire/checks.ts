import {
  type Dialect,
  isJsonObject,
  isTerminal,
  LegateError,
  type Operation,
  operationOf,
  type StreamResponse,
  v03,
  v03Rest,
  v1,
} from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';

/** The kind of an exchange, inferred from its request. */
export interface ExchangeKind {
  readonly operation: Operation | 'card' | undefined;
  /** The method name on the wire, such as `message/stream`; absent if the path names the operation. */
  readonly method?: string;
  readonly version: '1.0' | '0.3';
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
  /** The id of a JSON-RPC request. */
  readonly id?: unknown;
}

/** A request as recorded. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly requestBody: string;
}

export function exchangeKind(request: SentRequest): ExchangeKind {
  const { method, requestHeaders } = request;
  const pathname = URL.parse(request.url)?.pathname ?? '';
  const stated = requestHeaders.find(([name]) => name === 'a2a-version')?.[1];
  const version = stated?.startsWith('1') === true ? '1.0' : '0.3';
  const body = parseJsonOr(request.requestBody, undefined);
  if (isJsonObject(body) && typeof body['method'] === 'string' && 'jsonrpc' in body) {
    const { method: name, id } = body;
    const named = operationOf(name);
    return { version, ...named, operation: named?.operation, binding: 'JSONRPC', method: name, id };
  }
  const operation = restPaths.find(([pattern]) => pattern.test(`${method} ${pathname}`))?.[1];
  return { operation, version, binding: 'HTTP+JSON' };
}

/** Matched by the end of the path: the prefix belongs to the agent. */
const restPaths: readonly (readonly [RegExp, Operation | 'card'])[] = [
  [/^GET .*(?:\.json$|\.well-known)/, 'card'],
  [/^POST .*\/message:send$/, 'sendMessage'],
  [/^POST .*\/message:stream$/, 'sendStreamingMessage'],
  [/^\w+ .*\/tasks\/[^/]+:subscribe$/, 'subscribeToTask'],
  [/^POST .*\/tasks\/[^/]+:cancel$/, 'cancelTask'],
  [/^GET .*\/tasks$/, 'listTasks'],
  [/^GET .*\/tasks\/[^/:]+$/, 'getTask'],
  [/^POST .*\/pushNotificationConfigs$/, 'createTaskPushNotificationConfig'],
];

/** Sections of the specification 1.0 with the rules of an operation. */
const sections: Partial<Record<Operation | 'card', string>> = {
  sendMessage: '§3.1.1',
  sendStreamingMessage: '§3.1.2',
  getTask: '§3.1.3',
  listTasks: '§3.1.4',
  cancelTask: '§3.1.5',
  subscribeToTask: '§3.1.6',
  createTaskPushNotificationConfig: '§3.1.7',
  card: '§4.4.1',
};

/** The rules that an exchange is checked against, as text. */
export function ruleOf({ operation, version, binding }: ExchangeKind): string {
  const section = operation === undefined ? undefined : sections[operation];
  const rule =
    version === '1.0' && section !== undefined
      ? `A2A 1.0 ${section}, data objects §4.1`
      : `A2A ${version}${operation === undefined ? '' : `, ${operation}`}`;
  return binding === 'JSONRPC' ? `${rule}, envelope JSON-RPC 2.0 §5` : rule;
}

type Decoders<T> = Partial<
  Record<Operation | 'card', (dialect: Dialect, json: unknown) => T | undefined>
>;

/** Other requests contain little more than an id, and the response shows whether it was valid. */
const requestDecoders: Decoders<unknown> = {
  sendMessage: (dialect, json) => dialect.sendMessageRequest.decode(json),
  sendStreamingMessage: (dialect, json) => dialect.sendMessageRequest.decode(json),
  createTaskPushNotificationConfig: (dialect, json) =>
    dialect.taskPushNotificationConfig.decode(json),
};

/** Responses that contain events are returned as events. */
const responseDecoders: Decoders<StreamResponse> = {
  sendMessage: (dialect, json) => dialect.sendMessageResponse.decode(json),
  sendStreamingMessage: (dialect, json) => dialect.streamResponse.decode(json),
  subscribeToTask: (dialect, json) => dialect.streamResponse.decode(json),
  getTask: (dialect, json) => ({ task: dialect.task.decode(json) }),
  cancelTask: (dialect, json) => ({ task: dialect.task.decode(json) }),
  listTasks: (dialect, json) => void dialect.listTasksResponse.decode(json),
  card: (_dialect, json) => void v1.agentCard.decode(json),
};

/** The result of checking one message. */
export interface Checked {
  readonly problems: readonly string[];
  /** The event, if the message is a readable one. */
  readonly event?: StreamResponse | undefined;
}

/** Checks a response, or one event of a stream, as strictly as the specification. */
export function checkResponse(text: string, kind: ExchangeKind): Checked {
  const json = parseJsonOr(text, undefined);
  if (json === undefined) return { problems: ['is not JSON'] };
  if (kind.binding !== 'JSONRPC') return checkResult(json, kind);
  const problems = envelopeProblems(json, kind);
  if (!isJsonObject(json) || 'error' in json || !('result' in json)) return { problems };
  const result = checkResult(json['result'], kind);
  return { ...result, problems: [...problems, ...result.problems] };
}

function envelopeProblems(json: unknown, { id }: ExchangeKind): readonly string[] {
  if (!isJsonObject(json)) return ['is not a JSON-RPC response'];
  const problems: string[] = [];
  if (json['jsonrpc'] !== '2.0') problems.push('jsonrpc: must be "2.0"');
  // A server that rejects a request before reading it can't know its id (JSON-RPC 2.0, section 5).
  const isUnread = json['id'] === null && 'error' in json;
  if (json['id'] !== id && !isUnread) problems.push('id: must be that of the request');
  if ('result' in json === 'error' in json) problems.push('must have either result or error');
  return problems;
}

function checkResult(json: unknown, kind: ExchangeKind): Checked {
  // The decoders don't apply to an HTTP+JSON error.
  if (kind.operation === undefined || (isJsonObject(json) && 'error' in json)) {
    return { problems: [] };
  }
  return checkedBy(() => responseDecoders[kind.operation ?? 'card']?.(dialectOf(kind), json));
}

export function checkRequest(request: SentRequest, kind: ExchangeKind): readonly string[] {
  const json = parseJsonOr(request.requestBody, undefined);
  const params = kind.binding === 'JSONRPC' && isJsonObject(json) ? json['params'] : json;
  const { operation } = kind;
  if (operation === undefined) return [];
  return checkedBy(() => void requestDecoders[operation]?.(dialectOf(kind), params)).problems;
}

/** Runs a decoder, and reports every field that it rejects. */
export function checkedBy(decode: () => StreamResponse | undefined): Checked {
  try {
    return { problems: [], event: decode() };
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    const { violations = [], message } = error;
    const fields = violations.map(({ field, description }) =>
      field === '' ? description : `${field}: ${description}`,
    );
    return { problems: fields.length === 0 ? [message] : fields };
  }
}

function dialectOf({ version, binding }: ExchangeKind): Dialect {
  if (version === '1.0') return v1;
  return binding === 'JSONRPC' ? v03 : v03Rest;
}

/**
 * The rules for the order of events of one task, beyond the validity of each event. Needs all events from
 * the first one on.
 */
export class SequenceCheck {
  #taskId: string | undefined;
  #contextId: string | undefined;
  #hasStarted = false;
  #hasEnded = false;
  readonly #artifacts = new Map<string, 'open' | 'complete'>();

  /** The problems of this event, given all previous ones. */
  add(event: StreamResponse): readonly string[] {
    const isFirst = !this.#hasStarted;
    this.#hasStarted = true;
    const problems = this.#hasEnded ? ['comes after the task has ended'] : [];
    if ('message' in event) {
      const { role } = event.message;
      // In a stored log, a caller's follow-up is a message, too.
      if (role === 'ROLE_USER' && this.#taskId !== undefined) return problems;
      if (role !== 'ROLE_AGENT') problems.push('message.role: must be ROLE_AGENT');
      if (!isFirst) problems.push('a message is the only event of its stream');
      return problems;
    }
    if (isFirst && !('task' in event)) problems.push('a stream starts with the task or a message');
    if ('task' in event) {
      const { id, contextId, status, artifacts = [] } = event.task;
      this.#checkIds(id, contextId, problems);
      for (const { artifactId } of artifacts) this.#artifacts.set(artifactId, 'open');
      this.#hasEnded ||= isTerminal(status.state);
    } else if ('statusUpdate' in event) {
      const { taskId, contextId, status } = event.statusUpdate;
      this.#checkIds(taskId, contextId, problems);
      if (status.message !== undefined && status.message.role !== 'ROLE_AGENT') {
        problems.push('statusUpdate.status.message.role: must be ROLE_AGENT');
      }
      this.#hasEnded ||= isTerminal(status.state);
    } else this.#checkArtifact(event, problems);
    return problems;
  }

  #checkArtifact(
    { artifactUpdate }: Extract<StreamResponse, { artifactUpdate: unknown }>,
    problems: string[],
  ): void {
    const { taskId, contextId, artifact, append, lastChunk } = artifactUpdate;
    const known = this.#artifacts.get(artifact.artifactId);
    this.#checkIds(taskId, contextId, problems);
    if (append === true && known === undefined) {
      problems.push(`artifactUpdate.append: there is no artifact ${artifact.artifactId} to extend`);
    }
    if (append === true && known === 'complete') {
      problems.push('artifactUpdate.append: its last chunk came before');
    }
    this.#artifacts.set(artifact.artifactId, lastChunk === true ? 'complete' : 'open');
  }

  #checkIds(taskId: string, contextId: string, problems: string[]): void {
    if (this.#taskId !== undefined && taskId !== this.#taskId)
      problems.push('belongs to another task');
    if (this.#contextId !== undefined && contextId !== this.#contextId) {
      problems.push('belongs to another context');
    }
    this.#taskId = taskId;
    this.#contextId = contextId;
  }
}
