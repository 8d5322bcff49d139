import {
  type AgentCard,
  type JsonObject,
  LegateError,
  type Message,
  type Part,
  type SendMessageResponse,
  type Task,
  textOf,
} from '../../protocol/index.ts';
import {
  headerNames,
  readCancel,
  readCard,
  readError,
  readPresence,
  readResult,
  readTask,
  readUpdate,
} from '../exchange.ts';
import type { OutgoingMessage } from '../transport/bus.ts';
import { topics } from '../transport/topics.ts';
import { ownBodyKey, rockbotTypes, stateNumber } from './bodies.ts';

/** A message in RockBot's format, and its topic. */
export interface RockbotOutgoing {
  readonly topic: string;
  readonly message: Omit<OutgoingMessage, 'type'> & { readonly type: string };
}

/** Converts a message to RockBot's format; undefined if RockBot has no such message. */
export function toRockbot(topic: string, message: OutgoingMessage): RockbotOutgoing | undefined {
  const body = encoders[message.type](topic, message);
  if (body === undefined) return undefined;
  const { type, target = topic, ...content } = body;
  return {
    topic: target,
    message: {
      ...message,
      type,
      body: JSON.stringify(content.body),
      headers: headersOf(message, target),
    },
  };
}

interface Encoded {
  readonly type: string;
  readonly body: JsonObject;
  /** @default the topic of the message */
  readonly target?: string;
}

type Encoder = (topic: string, message: OutgoingMessage) => Encoded | undefined;

const encoders: Readonly<Record<OutgoingMessage['type'], Encoder>> = {
  task: request,
  cancel,
  update: status,
  result: (_topic, message) => result(message),
  error: (_topic, message) => error(message),
  announce: (_topic, message) => announcement(message),
  // RockBot's agents announce themselves every two minutes, and don't support queries.
  query: () => undefined,
};

/** Our own headers stay: RockBot reads only those with its prefix. */
function headersOf({ headers = {} }: OutgoingMessage, topic: string): Record<string, string> {
  const { traceparent, tracestate } = headers;
  const agent = /^agent\.task\.(?:cancel\.)?([^.]+)$/.exec(topic)?.[1];
  const claims = headers[headerNames.claims];
  return {
    ...headers,
    'rb-source': headers[headerNames.from] ?? 'unknown',
    ...(agent !== undefined && agent !== 'status' && { 'rb-destination': agent }),
    'rb-rb-content-trust': 'agent-message',
    ...(claims !== undefined && { 'rb-rb-auth-claims': claims }),
    ...(traceparent !== undefined && { 'rb-traceparent': traceparent }),
    ...(tracestate !== undefined && { 'rb-tracestate': tracestate }),
  };
}

/** A signature covers the A2A body, so a signed message includes it. */
function signed({ headers, body }: OutgoingMessage): JsonObject {
  return headers?.[headerNames.token] === undefined ? {} : { [ownBodyKey]: body };
}

function request(_topic: string, message: OutgoingMessage): Encoded {
  const { message: said, metadata = {} } = readTask(message.body);
  const all = { ...said.metadata, ...metadata };
  const { skill, ...rest } = all;
  return {
    type: rockbotTypes.request,
    body: {
      // The only id by which RockBot relates replies to requests.
      taskId: message.correlationId ?? said.messageId,
      ...(said.contextId !== undefined && { contextId: said.contextId }),
      skill: typeof skill === 'string' ? skill : 'general',
      message: toMessage(said, 'user'),
      ...(Object.keys(rest).length > 0 && { metadata: texts(rest) }),
      ...signed(message),
    },
  };
}

function cancel(_topic: string, message: OutgoingMessage): Encoded {
  const { id } = readCancel(message.body);
  return {
    type: rockbotTypes.cancel,
    body: { taskId: message.correlationId ?? id, ...signed(message) },
  };
}

/**
 * Progress goes to all subscribers: the state Working, with a text or, when an agent starts, without one.
 * RockBot runs a turn of its model for every other state, and gets those from the result.
 */
function status(topic: string, message: OutgoingMessage): Encoded | undefined {
  const update = readUpdate(message.body);
  if (!('statusUpdate' in update)) return undefined;
  const { taskId, contextId, status: shown } = update.statusUpdate;
  const isText = shown.message?.parts.some(({ text }) => text !== undefined) === true;
  const isWorking = shown.state === 'TASK_STATE_WORKING';
  if (!isWorking && !(shown.state === 'TASK_STATE_SUBMITTED' && isText)) return undefined;
  if (topic !== topics.status && !isText) return undefined;
  return {
    type: rockbotTypes.status,
    target: topics.status,
    body: {
      taskId: message.correlationId ?? taskId,
      contextId,
      state: stateNumber('TASK_STATE_WORKING'),
      ...(shown.message !== undefined && { message: toMessage(shown.message, 'agent') }),
    },
  };
}

function result(message: OutgoingMessage): Encoded | undefined {
  // RockBot would treat it as the result of the task, which is sent separately.
  if (message.headers?.[headerNames.answers] !== undefined) return undefined;
  const response = readResult(message.body);
  const task = taskOf(response);
  const said = answerOf(response);
  return {
    type: rockbotTypes.result,
    body: {
      taskId: message.correlationId ?? task?.id ?? '',
      ...(task?.contextId !== undefined && { contextId: task.contextId }),
      state: stateNumber(task?.status.state ?? 'TASK_STATE_COMPLETED'),
      ...(task?.artifacts !== undefined && {
        artifacts: task.artifacts.map(({ artifactId, name = artifactId, description, parts }) => ({
          name,
          ...(description !== undefined && { description }),
          parts: parts.map(toPart),
        })),
      }),
      ...(said !== undefined && { message: toMessage(said, 'agent') }),
    },
  };
}

function taskOf(response: SendMessageResponse): Task | undefined {
  return 'task' in response ? response.task : undefined;
}

/** RockBot reads the message of a result, not its artifacts. Questions omit them: the result has them. */
function answerOf(response: SendMessageResponse): Pick<Message, 'parts' | 'metadata'> | undefined {
  if ('message' in response) return response.message;
  const { task } = response;
  const { status: shown, artifacts = [] } = task;
  const { state, message: said } = shown;
  const hasSaid = said !== undefined && said.parts.length > 0;
  if (hasSaid && state !== 'TASK_STATE_COMPLETED') return said;
  const others = [...artifacts.flatMap(({ parts }) => parts), ...(said?.parts ?? [])].filter(
    isOther,
  );
  const words = textOf(task);
  const parts = [...(words === '' ? [] : [{ text: words }]), ...others];
  const { metadata } = said ?? {};
  return parts.length === 0 ? undefined : { parts, ...(metadata && { metadata }) };
}

/** Joins texts, because RockBot reads only the first. */
function joined(parts: readonly Part[]): readonly Part[] {
  const texts = parts.filter((part) => !isOther(part));
  const others = parts.filter(isOther);
  return texts.length < 2 ? [...texts, ...others] : [{ text: textOf({ parts }) }, ...others];
}

function isOther({ text }: Part): boolean {
  return text === undefined;
}

const errorCodes: Readonly<Record<string, string>> = {
  TASK_NOT_FOUND: 'task_not_found',
  TASK_NOT_CANCELABLE: 'task_not_cancelable',
  INVALID_PARAMS: 'invalid_request',
  INVALID_REQUEST: 'invalid_request',
  UNSUPPORTED_OPERATION: 'invalid_request',
};
const retryable = new Set(['UNAVAILABLE', 'STORE_FAILED', 'RATE_LIMITED', 'REQUEST_TIMEOUT']);

function error(message: OutgoingMessage): Encoded {
  const failure: LegateError = readError(message.body);
  return {
    type: rockbotTypes.error,
    body: {
      taskId: message.correlationId ?? '',
      code: errorCodes[failure.code] ?? 'execution_failed',
      message: failure.message,
      isRetryable: retryable.has(failure.code),
    },
  };
}

function announcement(message: OutgoingMessage): Encoded {
  const card: AgentCard = readCard(message.body);
  const { isGone } = readPresence(message.correlationId, message.headers ?? {});
  return {
    type: rockbotTypes.card,
    body: {
      agentName: card.name,
      description: card.description,
      version: card.version,
      skills: card.skills.map(({ id, name, description, tags, examples = [] }) => ({
        id,
        name,
        description,
        tags: [...tags],
        examples: [...examples],
      })),
      isDeregistering: isGone,
      // For receivers that support A2A: the complete card, since RockBot's card has fewer fields.
      [ownBodyKey]: message.body,
    },
  };
}

function toMessage(
  { parts, metadata }: Pick<Message, 'parts' | 'metadata'>,
  role: string,
): JsonObject {
  return {
    role,
    parts: joined(parts).map(toPart),
    ...(metadata !== undefined && { metadata: texts(metadata) }),
  };
}

/** RockBot supports text and JSON: files are sent as JSON with their address or contents. */
function toPart(part: Part): JsonObject {
  const { text, data, mediaType } = part;
  if (text !== undefined) {
    return { kind: 'text', text, ...(mediaType !== undefined && { mimeType: mediaType }) };
  }
  const { metadata: _metadata, ...file } = part;
  const content = data === undefined ? file : data;
  return {
    kind: 'data',
    data: JSON.stringify(content),
    mimeType: data === undefined ? 'application/json' : (mediaType ?? 'application/json'),
  };
}

/** RockBot's metadata are texts. */
function texts(values: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}
