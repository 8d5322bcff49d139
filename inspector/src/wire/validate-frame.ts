import {
  type Dialect,
  isJsonObject,
  LegateError,
  type Operation,
  operationOf,
  type StreamResponse,
  v03,
  v03Rest,
  v1,
} from '../../../src/protocol/index.ts';
import type { Exchange } from './exchange.ts';

/** The kind of an exchange, from its request. */
export interface Spoken {
  readonly operation: Operation | 'card' | undefined;
  readonly version: '1.0' | '0.3';
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  /** The id of a JSON-RPC request. */
  readonly id?: unknown;
}

/** The result of checking one response or event. */
export interface Judged {
  readonly problems: readonly string[];
  /** The event, if the frame is a readable one. */
  readonly event?: StreamResponse;
}

export function spokenIn(exchange: Exchange): Spoken {
  const url = new URL(exchange.url);
  const stated = exchange.requestHeaders.find(([name]) => name === 'a2a-version')?.[1];
  const version = stated?.startsWith('1') === true ? '1.0' : '0.3';
  if (exchange.method === 'GET' && /\.json$|\.well-known/.test(url.pathname)) {
    return { operation: 'card', version, binding: 'HTTP+JSON' };
  }
  const body = parsed(exchange.requestBody);
  if (isJsonObject(body) && typeof body['method'] === 'string' && 'jsonrpc' in body) {
    const named = operationOf(body['method']);
    return {
      operation: named?.operation,
      version: named?.version ?? version,
      binding: 'JSONRPC',
      id: body['id'],
    };
  }
  return { operation: restOperation(exchange.method, url.pathname), version, binding: 'HTTP+JSON' };
}

/** By the end of the path: the prefix is the agent's own. */
const restPaths: readonly (readonly [RegExp, Operation])[] = [
  [/^POST .*\/message:send$/, 'sendMessage'],
  [/^POST .*\/message:stream$/, 'sendStreamingMessage'],
  [/^\w+ .*\/tasks\/[^/]+:subscribe$/, 'subscribeToTask'],
  [/^POST .*\/tasks\/[^/]+:cancel$/, 'cancelTask'],
  [/^GET .*\/tasks$/, 'listTasks'],
  [/^GET .*\/tasks\/[^/:]+$/, 'getTask'],
  [/^POST .*\/pushNotificationConfigs$/, 'createTaskPushNotificationConfig'],
];

function restOperation(method: string, pathname: string): Operation | undefined {
  return restPaths.find(([pattern]) => pattern.test(`${method} ${pathname}`))?.[1];
}

/** Decodes a frame as strictly as the specification. */
export function judgeFrame(text: string, spoken: Spoken): Judged {
  const json = parsed(text);
  if (json === undefined) return { problems: ['is not JSON'] };
  if (spoken.binding !== 'JSONRPC') return judgeResult(json, spoken);
  const problems = envelopeProblems(json, spoken);
  if (!isJsonObject(json) || 'error' in json || !('result' in json)) return { problems };
  const result = judgeResult(json['result'], spoken);
  return { ...result, problems: [...problems, ...result.problems] };
}

function envelopeProblems(json: unknown, { id }: Spoken): readonly string[] {
  if (!isJsonObject(json)) return ['is not a JSON-RPC response'];
  const problems: string[] = [];
  if (json['jsonrpc'] !== '2.0') problems.push('jsonrpc: must be "2.0"');
  // A server that refuses a request before reading it cannot know its id (JSON-RPC 2.0, section 5).
  const isUnread = json['id'] === null && 'error' in json;
  if (json['id'] !== id && !isUnread) problems.push('id: must be that of the request');
  if ('result' in json === 'error' in json) problems.push('must have either result or error');
  return problems;
}

function judgeResult(json: unknown, spoken: Spoken): Judged {
  const dialect = dialectOf(spoken);
  // An HTTP+JSON error is not an answer to the operation.
  if (isJsonObject(json) && 'error' in json) return { problems: [] };
  try {
    switch (spoken.operation) {
      case 'sendStreamingMessage':
      case 'subscribeToTask':
        return { problems: [], event: dialect.streamResponse.decode(json) };
      case 'sendMessage':
        return { problems: [], event: dialect.sendMessageResponse.decode(json) };
      case 'getTask':
      case 'cancelTask':
        return { problems: [], event: { task: dialect.task.decode(json) } };
      case 'listTasks':
        dialect.listTasksResponse.decode(json);
        return { problems: [] };
      case 'card':
        v1.agentCard.decode(json);
        return { problems: [] };
      default:
        return { problems: [] };
    }
  } catch (error) {
    return { problems: problemsOf(error) };
  }
}

/** The problems of a request. */
export function judgeRequest(exchange: Exchange, spoken: Spoken): readonly string[] {
  const json = parsed(exchange.requestBody);
  const params = spoken.binding === 'JSONRPC' && isJsonObject(json) ? json['params'] : json;
  const dialect = dialectOf(spoken);
  try {
    switch (spoken.operation) {
      case 'sendMessage':
      case 'sendStreamingMessage':
        dialect.sendMessageRequest.decode(params);
        break;
      case 'createTaskPushNotificationConfig':
        dialect.taskPushNotificationConfig.decode(params);
        break;
      default:
      // The other requests contain hardly more than an id, which the response shows to be valid.
    }
    return [];
  } catch (error) {
    return problemsOf(error);
  }
}

function dialectOf({ version, binding }: Spoken): Dialect {
  if (version === '1.0') return v1;
  return binding === 'JSONRPC' ? v03 : v03Rest;
}

/** Every invalid field, by its path. */
export function problemsOf(error: unknown): readonly string[] {
  if (!(error instanceof LegateError)) throw error;
  const { violations, message } = error;
  return violations === undefined || violations.length === 0
    ? [message]
    : violations.map(({ field, description }) => `${field}: ${description}`);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
