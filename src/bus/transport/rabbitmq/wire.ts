import { isUtf8 } from 'node:buffer';
import type { AsyncMessage, Envelope, SyncMessage } from 'rabbitmq-client';
import { isJsonObject } from '../../../protocol/index.ts';
import type { BrokerMessage } from '../broker-bus.ts';
import type { BusMessage, OutgoingMessage } from '../bus.ts';
import { cutText, headerBytes, maxHeaderBytes, maxIdBytes } from '../checks.ts';

/** Why a message was refused before it was decoded: see `content-guard.ts`. */
export const refusedHeader = 'legate-refused';
/** Set on a refused message that the broker itself can move to the dead letters. */
export const rejectableHeader = 'legate-rejectable';

/** Headers of the transport itself; everything else in the table belongs to the message. */
const own = {
  /** The topic of a message that was not routed by it. */
  topic: 'legate-topic',
  attempt: 'legate-attempt',
  reason: 'legate-reason',
  /** Milliseconds since 1970. */
  diedAt: 'legate-died-at',
} as const;

/** The longest reason, in bytes. */
const maxReasonBytes = 500;
/** Headers that the broker uses itself: never part of a message, and not copied. */
const brokersOwn = /^(?:b?cc|x-death|x-(?:first|last)-death-.*|x-delivery-count)$/i;

type Received = AsyncMessage | SyncMessage;

export interface WireMessage {
  readonly message: BusMessage;
  readonly attempt: number;
  readonly isRedelivered: boolean;
  readonly death: { readonly reason: string; readonly diedAt: number } | undefined;
  /** Why the message must not be handled. Its body is then empty, and only its ids are known. */
  readonly refusal: string | undefined;
  /**
   * Whether the broker can move it to the dead letters: a forged `x-death` would crash the queue
   * (RabbitMQ 3.10).
   */
  readonly isRejectable: boolean;
}

export function toEnvelope(
  message: BrokerMessage,
  route: {
    readonly id: string;
    readonly exchange: string;
    readonly topic: string;
    readonly mandatory: boolean;
    /** Milliseconds since 1970. */
    readonly now: number;
  },
): Envelope {
  return {
    ...commonEnvelope(message),
    exchange: route.exchange,
    routingKey: route.topic,
    mandatory: route.mandatory,
    messageId: route.id,
    durable: message.persistent ?? true,
    timestamp: Math.floor(route.now / 1000),
  };
}

/** The envelope of a received message for a retry, the dead letters, or a replay. */
export function toEnvelopeAgain(
  message: BusMessage,
  marks: {
    readonly attempt?: number;
    readonly reason?: string;
    readonly diedAt?: number;
    /** It was refused, and its contents are missing. */
    readonly isRefused?: boolean;
  },
): Envelope {
  const { attempt, reason, diedAt, isRefused = false } = marks;
  return {
    ...commonEnvelope(message),
    messageId: message.id,
    durable: true,
    headers: {
      ...message.headers,
      [own.topic]: cutText(message.topic, maxIdBytes),
      ...(attempt !== undefined && { [own.attempt]: String(attempt) }),
      ...(reason !== undefined && { [own.reason]: cutText(reason, maxReasonBytes) }),
      ...(diedAt !== undefined && { [own.diedAt]: String(diedAt) }),
      ...(isRefused && { [refusedHeader]: cutText(reason ?? '', maxReasonBytes) }),
    },
  };
}

function commonEnvelope({
  type,
  correlationId,
  replyTo,
  headers,
}: Pick<OutgoingMessage, 'correlationId' | 'replyTo' | 'headers'> & { type: string }): Envelope {
  return {
    type,
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    ...(correlationId !== undefined && { correlationId }),
    ...(replyTo !== undefined && { replyTo }),
    ...(headers !== undefined && { headers }),
  };
}

/**
 * Decodes a message of any sender: fields of other types count as absent. Never throws. `topics` are
 * the topics of its queue: if the message names any other topic, its routing key is used instead.
 */
export function fromWire(
  received: Received,
  { newId, topics }: { readonly newId: () => string; readonly topics?: readonly string[] },
): WireMessage {
  const table: Readonly<Record<string, unknown>> = received.headers ?? {};
  const headers: Record<string, string> = {};
  for (const name of Object.keys(table)) {
    const value = table[name];
    if (typeof value !== 'string' || name.startsWith('legate-') || brokersOwn.test(name)) continue;
    // Assigning a text to `__proto__` has no effect.
    headers[name] = value;
  }
  const refusal = refusalOf(received, table, headers);
  const topic = textOf(table[own.topic]);
  return {
    message: {
      id: idOf(received.messageId) ?? newId(),
      type: idOf(received.type) ?? '',
      body: refusal === undefined ? String(received.body) : '',
      topic: topic !== undefined && topics?.includes(topic) !== false ? topic : received.routingKey,
      correlationId: idOf(received.correlationId),
      replyTo: idOf(received.replyTo),
      headers: refusal === undefined ? headers : {},
    },
    attempt: Math.max(1, numberOf(table[own.attempt]) ?? 1),
    isRedelivered: received.redelivered,
    death: deathOf(table),
    refusal,
    isRejectable:
      !Object.hasOwn(table, 'x-death') &&
      (table[refusedHeader] === undefined || table[rejectableHeader] === 'yes'),
  };
}

function refusalOf(
  { body, correlationId, replyTo, messageId, type }: Received,
  table: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  const refused = textOf(table[refusedHeader]);
  if (refused !== undefined) return refused;
  const size = headerBytes(headers);
  if (size > maxHeaderBytes) return `headers of ${size} bytes: at most ${maxHeaderBytes}`;
  const texts = [correlationId, replyTo, messageId, type, ...Object.entries(headers).flat()];
  // Stores can't save NUL.
  if (texts.some((text) => text?.includes('\0') === true)) return 'a property contains NUL';
  // The content guard prevents decoding.
  if (!Buffer.isBuffer(body)) return 'the body was decoded by the client library';
  return isUtf8(body) ? undefined : 'the body is not UTF-8';
}

/** The latest possible `Date`, in milliseconds since 1970. */
const latestDate = 8.64e15;

function deathOf(table: Readonly<Record<string, unknown>>): WireMessage['death'] {
  const reason = textOf(table[own.reason]);
  if (reason !== undefined) return { reason, diedAt: numberOf(table[own.diedAt]) ?? 0 };
  const deaths: unknown = table['x-death'];
  const latest: unknown = Array.isArray(deaths) ? deaths[0] : undefined;
  if (!isJsonObject(latest)) return undefined;
  const seconds = typeof latest.time === 'number' ? latest.time : 0;
  const diedAt = Math.min(seconds * 1000, latestDate);
  return { reason: textOf(latest.reason) ?? 'unknown', diedAt };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Invalid UTF-8 is read as characters of three bytes, so that a received id may have become too long. */
function idOf(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : cutText(text, maxIdBytes);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
