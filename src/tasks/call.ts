import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../agents/index.ts';
import {
  invalidParams,
  type Json,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Message,
  type Part,
} from '../protocol/index.ts';
import { type Dedupe, StoredFormat, type TurnRecord } from '../store/index.ts';

/**
 * The properties of a request besides its parameters, from its transport.
 * @example
 * const call: Call = { caller: anonymous, version: '1.0', lastEventId: 12 };
 * await engine.subscribe({ id: 'task-17' }, call); // continues with event 13
 */
export interface Call {
  readonly caller: Caller;
  /** The protocol version of the request. */
  readonly version: '0.3' | '1.0';
  /** Extension URIs that the caller named. @default [] */
  readonly extensions?: readonly string[];
  /** The caller's `Idempotency-Key`. */
  readonly idempotencyKey?: string;
  /** The number of the last event the caller has seen, to resume a subscription after it. */
  readonly lastEventId?: number;
  /** W3C trace context of the request. */
  readonly traceparent?: string;
  /** W3C `tracestate` of the request, passed on with the trace. */
  readonly tracestate?: string;
  /**
   * Whether a program on this machine called, without a proxy. Its webhooks can then use loopback
   * addresses, if only this machine can reach the server. @default no
   */
  readonly isLocal?: () => boolean;
  /** The id of the task that the message starts. @default a new one */
  readonly newTaskId?: string;
  /** Called once a sent message is admitted, with the task that it starts or continues. */
  readonly onAdmitted?: (ids: { readonly taskId: string; readonly contextId: string }) => void;
  /** Aborts when the caller disconnects. This ends waiting and streaming, never the turn. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * An anonymous caller.
 * @example await engine.getTask({ id }, { caller: anonymous, version: '1.0' });
 */
export const anonymous: Caller = { tenant: '', subject: '', method: 'anonymous' };

/** The reason of a call's aborted signal. A disconnected caller is not logged as an error. */
export function callerGone(): LegateError {
  return new LegateError('REQUEST_TIMEOUT', 'the caller left before the answer');
}

/** Whether the caller is authenticated. */
function isAuthenticated(caller: Caller): boolean {
  return caller.subject !== '';
}

/**
 * The key that identifies duplicates of a message. A first message without a context has only its id,
 * which several anonymous callers might use: they must send an `Idempotency-Key`.
 */
export function dedupeOf(
  message: Message,
  contextId: string | undefined,
  call: Call,
  expiresAt: number,
): Dedupe | undefined {
  let key: string;
  if (contextId !== undefined) key = `c\n${contextId}\n${message.messageId}`;
  else if (call.idempotencyKey !== undefined) {
    key = `i\n${call.idempotencyKey}\n${message.messageId}`;
  } else if (isAuthenticated(call.caller)) key = `m\n${message.messageId}`;
  else return undefined;
  return { key, digest: hash('sha256', JSON.stringify(message), 'base64url'), expiresAt };
}

/** Refuses a part whose media type is not among those that the agent declares. */
export function checkMediaTypes(message: Message, declared: () => readonly string[]): void {
  for (const [index, part] of message.parts.entries()) {
    const { mediaType = '' } = part;
    if (mediaType === '') continue;
    const modes = declared();
    const type = essenceOf(mediaType);
    if (modes.some((mode) => accepts(essenceOf(mode), type, part))) continue;
    throw new LegateError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `message.parts[${index}].mediaType: this agent does not accept ${mediaType}; it accepts ${modes.join(', ')}`,
      { metadata: { mediaType, supportedMediaTypes: modes.join(',') } },
    );
  }
}

/** Agents that declare a text type accept text parts of any text type; the same holds for JSON types. */
function accepts(mode: string, type: string, { text, data }: Part): boolean {
  if (mode === type || mode === '*/*' || mode === '*') return true;
  if (mode.endsWith('/*') && type.startsWith(mode.slice(0, -1))) return true;
  if (text !== undefined) return mode.startsWith('text/') && type.startsWith('text/');
  return data !== undefined && isJsonType(mode) && isJsonType(type);
}

function isJsonType(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json');
}

/** A media type without its parameters. */
function essenceOf(mediaType: string): string {
  return mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function checkExtensions(required: readonly string[], call: Call): void {
  const missing = required.filter((uri) => call.extensions?.includes(uri) !== true);
  if (missing.length === 0) return;
  throw new LegateError(
    'EXTENSION_SUPPORT_REQUIRED',
    `this agent requires the extension ${missing.join(', ')}: name it in the A2A-Extensions header`,
    { metadata: { extensions: missing.join(',') } },
  );
}

export function contextMismatch(contextId: string): LegateError {
  return invalidParams({
    field: 'message.contextId',
    description: `does not match the context of the task; it is in ${contextId}`,
  });
}

/** A message was validated when it was admitted; here it is only distinguished from other values. */
const message = z.custom<Message>(
  (value) =>
    z.object({ messageId: z.string(), parts: z.array(z.unknown()) }).safeParse(value).success,
  'is not a message',
);

/** Absent values are not stored. */
const schema = z.object({
  caller: z.object({
    tenant: z.string(),
    subject: z.string(),
    method: z.string(),
    displayName: z.string().exactOptional(),
    scopes: z.array(z.string()).readonly().exactOptional(),
  }),
  metadata: z.custom<JsonObject>((value) => typeof value === 'object').optional(),
  acceptedOutputModes: z.array(z.string()).readonly(),
  extensions: z.array(z.string()).readonly(),
  traceparent: z.string().optional(),
  tracestate: z.string().optional(),
  /** A follow-up message to an existing task. A first message is part of the task's first event. */
  message: message.exactOptional(),
  /** The turn abandons the task instead of answering a message. */
  cancel: z.literal(true).exactOptional(),
});

/** The request of a turn as it is stored: the data that the message itself does not contain. */
export type TurnRequest = Readonly<z.infer<typeof schema>>;

const format = new StoredFormat<TurnRequest>({ name: 'the request of turn', schema });

export function encodeTurnRequest(request: TurnRequest): Json<JsonValue> {
  return format.encode(request);
}

export function decodeTurnRequest({ id, request }: TurnRecord): TurnRequest {
  return format.decode(request.value, String(id));
}
