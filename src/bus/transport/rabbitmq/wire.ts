import { isUtf8 } from 'node:buffer';
import type { AsyncMessage, Envelope, SyncMessage } from 'rabbitmq-client';
import { isJsonObject } from '../../../protocol/index.ts';
import type { BusMessage, OutgoingMessage } from '../bus.ts';
import { cutText, headerBytes, maxHeaderBytes, maxIdBytes } from '../refusals.ts';

/** Why a message was refused before it was decoded: see `content-header.ts`. */
export const refusedHeader = 'legate-refused';
/** On a refused message that the broker itself can move to the dead letters. */
export const rejectableHeader = 'legate-rejectable';

/** Headers of the transport itself; everything else in the table belongs to the message. */
const own = {
  /** The topic, where the message took another way into its queue. */
  topic: 'legate-topic',
  attempt: 'legate-attempt',
  reason: 'legate-reason',
  /** Milliseconds since 1970. */
  diedAt: 'legate-died-at',
} as const;

/** The most that is kept of a reason, in bytes. */
const maxReasonBytes = 500;
/** Headers by which the broker routes or notes what it did: never part of a message, and not copied. */
const brokersOwn = /^(?:b?cc|x-death|x-(?:first|last)-death-.*|x-delivery-count)$/i;

type Received = AsyncMessage | SyncMessage;

export interface WireMessage {
  readonly message: BusMessage;
  readonly attempt: number;
  readonly isRedelivered: boolean;
  readonly death: { readonly reason: string; readonly diedAt: number } | undefined;
  /** Why it must not be handled. Its body is empty then, and only its ids are known. */
  readonly refusal: string | undefined;
  /**
   * Whether the broker can be told to move it to the dead letters: a forged `x-death`, which it then
   * reads, ends the process of its queue (RabbitMQ 3.10).
   */
  readonly isRejectable: boolean;
}

export function toEnvelope(
  message: OutgoingMessage,
  way: {
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
    exchange: way.exchange,
    routingKey: way.topic,
    mandatory: way.mandatory,
    messageId: way.id,
    durable: message.persistent ?? true,
    timestamp: Math.floor(way.now / 1000),
  };
}

/** The same message once more: on its way to a retry, to the dead, or back from there. */
export function toEnvelopeAgain(
  message: BusMessage,
  marks: {
    readonly attempt?: number;
    readonly reason?: string;
    readonly diedAt?: number;
    /** Its contents were refused, and are not in it. */
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
 * A message from the broker, from any sender: fields of other types count as absent. Never throws.
 * `topics` are those of its queue: a message that says it came by another one came by its routing key.
 */
export function fromWire(
  received: Received,
  { newId, topics }: { readonly newId: () => string; readonly topics?: readonly string[] },
): WireMessage {
  const table = (received.headers ?? {}) as Readonly<Record<string, unknown>>;
  const headers: Record<string, string> = {};
  for (const name of Object.keys(table)) {
    const value = table[name];
    if (typeof value !== 'string' || name.startsWith('legate-') || brokersOwn.test(name)) continue;
    // A text that is assigned to `__proto__` is gone, and changes nothing.
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
  // No store keeps it, and no sender needs it.
  if (texts.some((text) => text?.includes('\0') === true)) return 'a property contains NUL';
  // The guard of the connection leaves bodies as bytes.
  if (!Buffer.isBuffer(body)) return 'the body was decoded by the client library';
  return isUtf8(body) ? undefined : 'the body is not UTF-8';
}

/** The latest time that a date can have, in milliseconds since 1970. */
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

/** Bytes that are no UTF-8 are read as characters of three bytes: what came whole may not fit again. */
function idOf(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : cutText(text, maxIdBytes);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
