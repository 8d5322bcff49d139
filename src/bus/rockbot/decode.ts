import { z } from 'zod';
import { busInterface } from '../../peers/index.ts';
import {
  type AgentCard,
  type AgentInterface,
  type Artifact,
  data,
  errorMessage,
  type JsonObject,
  LegateError,
  type Message,
  parseJson,
  type Part,
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  type TaskState,
  text,
} from '../../protocol/index.ts';
import { errorText, headerNames } from '../exchange.ts';
import type { BusMessage, MessageType } from '../transport/bus.ts';
import {
  cancelBody,
  cardBody,
  errorBody,
  ownBodyOf,
  readBody,
  requestBody,
  resultBody,
  type RockbotMessage,
  type RockbotPart,
  rockbotTypes,
  statusBody,
} from './bodies.ts';

/** The reply topic for requests that name none. */
export const defaultReplyTopic = 'agent.response';

/** A RockBot message in our format. */
type Decoded = Pick<BusMessage, 'body' | 'correlationId'> & {
  readonly type: MessageType;
  readonly headers?: Readonly<Record<string, string>>;
};

const decoders: Readonly<Record<string, (message: BusMessage) => Decoded>> = {
  [rockbotTypes.request]: request,
  [rockbotTypes.result]: result,
  [rockbotTypes.error]: error,
  [rockbotTypes.status]: status,
  [rockbotTypes.cancel]: cancel,
  [rockbotTypes.card]: card,
};

/** The types of messages that can't be decoded: receivers refuse these messages. */
const kinds: Readonly<Record<string, MessageType>> = {
  [rockbotTypes.request]: 'task',
  [rockbotTypes.result]: 'result',
  [rockbotTypes.error]: 'error',
  [rockbotTypes.status]: 'update',
  [rockbotTypes.cancel]: 'cancel',
  [rockbotTypes.card]: 'announce',
};

/** A message in our format, or the problem that prevents its decoding. */
export type FromRockbot = BusMessage & { readonly problem?: string };

/** Converts RockBot messages to our format; returns all others unchanged. */
export function fromRockbot(message: BusMessage): FromRockbot {
  const decode = decoders[message.type];
  if (decode === undefined) return message;
  const replyTo =
    message.replyTo ?? (message.type === rockbotTypes.request ? defaultReplyTopic : undefined);
  const common = { ...message, replyTo, headers: headersOf(message) };
  try {
    const { headers, ...decoded } = decode(message);
    return { ...common, ...decoded, headers: { ...common.headers, ...headers } };
  } catch (error) {
    return { ...common, type: kinds[message.type] ?? message.type, problem: problemOf(error) };
  }
}

function problemOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return errorMessage(error);
  const [issue] = error.issues;
  return issue === undefined ? error.message : `${issue.path.join('.')}: ${issue.message}`;
}

/** Headers of RockBot have a prefix, which its own constants repeat. */
function headersOf({ headers }: BusMessage): Readonly<Record<string, string>> {
  const read = (name: string): string | undefined => headers[`rb-${name}`];
  const own = Object.entries(headers).filter(([name]) => !name.startsWith('rb-'));
  const known = {
    [headerNames.from]: read('source'),
    [headerNames.claims]: read('rb-auth-claims') ?? read('auth-claims'),
    traceparent: read('traceparent'),
    tracestate: read('tracestate'),
  };
  return {
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)),
    ...Object.fromEntries(own),
    [headerNames.dialect]: 'rockbot',
  };
}

function request(message: BusMessage): Decoded {
  const native = ownBodyOf(message.body);
  const { taskId, contextId, skill, message: said, metadata } = readBody(requestBody, message.body);
  // The sender supports A2A and has signed the A2A body: replies to it are signed, too.
  if (native !== undefined) return ownRequest('task', native, message);
  const named = { ...metadata, ...(skill !== '' && { skill }) };
  const decoded: SendMessageRequest = {
    message: {
      // A redelivery has the same id, a follow-up another.
      messageId: message.id,
      role: 'ROLE_USER',
      parts: said.parts.map(toPart),
      ...(contextId !== undefined && { contextId }),
      metadata: { ...said.metadata, ...named },
    },
    metadata: named,
  };
  return { type: 'task', body: JSON.stringify(decoded), correlationId: taskId };
}

/** Replies have the dialect of the body, because signatures cover A2A bodies. */
function ownRequest(type: 'task' | 'cancel', body: string, { correlationId }: BusMessage): Decoded {
  return { type, body, correlationId, headers: { [headerNames.dialect]: 'legate' } };
}

function result(message: BusMessage): Decoded {
  const body = readBody(resultBody, message.body);
  const artifacts = body.artifacts?.map(({ name, description, parts }, index): Artifact => ({
    artifactId: `${body.taskId}-${index}`,
    name,
    ...(description !== undefined && { description }),
    parts: parts.map(toPart),
  }));
  const task = taskOf(message, body, body.message, artifacts);
  const response: SendMessageResponse = { task };
  return { type: 'result', body: JSON.stringify(response), correlationId: idOf(message, body) };
}

function taskOf(
  { id }: BusMessage,
  ids: {
    readonly taskId: string;
    readonly contextId: string | undefined;
    readonly state: TaskState;
  },
  said: RockbotMessage | undefined,
  artifacts: readonly Artifact[] = [],
): Task {
  return {
    id: ids.taskId,
    contextId: ids.contextId ?? ids.taskId,
    status: { state: ids.state, ...(said !== undefined && { message: toMessage(id, said) }) },
    ...(artifacts.length > 0 && { artifacts }),
  };
}

/** RockBot answers every request to cancel with one of these. */
const answersCancel = new Set(['task_not_cancelable', 'task_not_found']);

function error(message: BusMessage): Decoded {
  const body = readBody(errorBody, message.body);
  const correlationId = idOf(message, body);
  if (answersCancel.has(body.code)) {
    const isKnown = body.code === 'task_not_cancelable';
    const refusal = new LegateError(
      isKnown ? 'TASK_NOT_CANCELABLE' : 'TASK_NOT_FOUND',
      body.message,
    );
    const headers = { [headerNames.answers]: 'cancel' };
    return { type: 'error', body: errorText(refusal), correlationId, headers };
  }
  // In the form of our own agents: data for programs, text for people.
  const metadata = { error_type: body.code, isRetryable: body.isRetryable };
  const explained: Message = {
    messageId: message.id,
    role: 'ROLE_AGENT',
    parts: [data({ state: 'failed', ...metadata }), text(body.message)],
    metadata,
  };
  const task: Task = {
    id: body.taskId,
    contextId: body.contextId ?? body.taskId,
    status: { state: 'TASK_STATE_FAILED', message: explained },
    metadata,
  };
  return { type: 'result', body: JSON.stringify({ task }), correlationId };
}

function status(message: BusMessage): Decoded {
  const body = readBody(statusBody, message.body);
  const { id, contextId, status: shown } = taskOf(message, body, body.message);
  const update: StreamResponse = { statusUpdate: { taskId: id, contextId, status: shown } };
  return { type: 'update', body: JSON.stringify(update), correlationId: idOf(message, body) };
}

function cancel(message: BusMessage): Decoded {
  const native = ownBodyOf(message.body);
  if (native !== undefined) return ownRequest('cancel', native, message);
  const { taskId } = readBody(cancelBody, message.body);
  return { type: 'cancel', body: JSON.stringify({ id: taskId }), correlationId: taskId };
}

function card(message: BusMessage): Decoded {
  const native = ownBodyOf(message.body);
  const body = readBody(cardBody, message.body);
  const headers = body.isDeregistering ? { [headerNames.presence]: 'gone' } : {};
  if (native !== undefined) {
    const { correlationId } = message;
    return {
      type: 'announce',
      body: native,
      correlationId,
      headers: { ...headers, [headerNames.dialect]: 'legate' },
    };
  }
  const { agentName, url, protocolVersion = '0.3' } = body;
  // With an address, RockBot calls it over HTTP.
  const http: AgentInterface = { url: url ?? '', protocolBinding: 'JSONRPC', protocolVersion };
  const decoded: AgentCard = {
    name: agentName,
    description: body.description ?? agentName,
    version: body.version ?? '1.0',
    supportedInterfaces: [url === undefined || url === '' ? busInterface(agentName) : http],
    capabilities: { streaming: body.supportsStreaming ?? url === undefined },
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: (body.skills ?? []).map(
      ({ id, name = id, description = name, tags = [], examples }) => ({
        id,
        name,
        description,
        tags,
        ...(examples !== undefined && { examples }),
      }),
    ),
  };
  return { type: 'announce', body: JSON.stringify(decoded), correlationId: undefined, headers };
}

const modes = ['text/plain', 'application/json'];

/** The correlation id is the caller's id of the task; some senders omit it. */
function idOf(message: BusMessage, { taskId }: { readonly taskId: string }): string {
  return message.correlationId ?? taskId;
}

function toMessage(messageId: string, said: RockbotMessage): Message {
  const metadata: JsonObject | undefined = said.metadata;
  return {
    messageId,
    role: said.role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    parts: said.parts.map(toPart),
    ...(metadata !== undefined && { metadata }),
  };
}

/** RockBot sends data as JSON text; text that is not JSON becomes a text part. */
function toPart({ text: words = '', data: json, mimeType }: RockbotPart): Part {
  const mediaType = mimeType === undefined ? {} : { mediaType: mimeType };
  if (json === undefined) return { text: words, ...mediaType };
  try {
    return { data: parseJson(json), ...mediaType };
  } catch {
    return { text: json, ...mediaType };
  }
}
