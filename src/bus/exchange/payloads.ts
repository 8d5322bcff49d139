/**
 * The bodies on the bus: A2A 1.x as JSON, decoded with limits.
 *
 * | type | body |
 * |---|---|
 * | `task` | `SendMessageRequest` |
 * | `cancel` | `CancelTaskRequest`; its id is the agent's, or the correlation id while that is unknown |
 * | `update` | `StreamResponse` |
 * | `result` | `SendMessageResponse` |
 * | `error` | `{ error }` with a JSON-RPC error object |
 * | `announce` | `AgentCard` |
 */
import {
  type AgentCard,
  type CancelTaskRequest,
  fromJsonRpcError,
  isJsonObject,
  LegateError,
  parseJson,
  readAgentCard,
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  toJsonRpcError,
  v1,
} from '../../protocol/index.ts';

/** Headers beside the transport's own. */
export const headerNames = {
  /** Proves who sent the message. */
  token: 'token',
  /** The name that an unauthenticated sender claims. */
  from: 'from',
  /** Which updates the sender wants: `all` (default), `status` or `none`. */
  updates: 'updates',
  /** The series of an update: each delivery of a task message starts a new one. */
  series: 'series',
  /** The number of an update in its series, from 0: a gap means that one was lost. */
  sequence: 'sequence',
  /** `cancel` on the reply to a cancellation request, which is not the task's result. */
  answers: 'answers',
  /** `gone` on the last announcement of an agent. */
  presence: 'presence',
} as const;

/** Whether an agent is online, and when it announced that. */
export interface Presence {
  readonly isGone: boolean;
  /** Milliseconds since 1970, by the agent's clock; undefined if it is missing. */
  readonly at: number | undefined;
}

/**
 * The correlation id of an announcement. Unlike headers it is signed, so an announcement can't be
 * replayed as a departure.
 */
export function presenceMark(isGone: boolean, at: number): string {
  return `${isGone ? 'gone' : 'here'} ${at}`;
}

/** Reads a `presenceMark`, or the header if there is none. */
export function readPresence(
  correlationId: string | undefined,
  headers: Readonly<Record<string, string>>,
): Presence {
  const [, word, digits] = /^(gone|here) (\d{1,15})$/.exec(correlationId ?? '') ?? [];
  const isGone = headers[headerNames.presence] === 'gone';
  if (digits === undefined) return { isGone, at: undefined };
  return { isGone: word === 'gone', at: Number(digits) };
}

/** Answers of peers may end an artifact without parts. */
const fromPeer = { allowEmptyParts: true };

export function readTask(body: string): SendMessageRequest {
  return v1.sendMessageRequest.decode(parseJson(body));
}

export function readCancel(body: string): CancelTaskRequest {
  return v1.cancelTaskRequest.decode(parseJson(body));
}

export function readUpdate(body: string): StreamResponse {
  return v1.streamResponse.decode(parseJson(body), fromPeer);
}

export function readResult(body: string): SendMessageResponse {
  return v1.sendMessageResponse.decode(parseJson(body), fromPeer);
}

export function readError(body: string): LegateError {
  const value = parseJson(body);
  return fromJsonRpcError(isJsonObject(value) ? value['error'] : value);
}

export function readCard(body: string): AgentCard {
  return readAgentCard(parseJson(body));
}

export function errorText(thrown: unknown): string {
  return JSON.stringify({ error: toJsonRpcError(thrown) });
}
