import type { AsyncMessage, Envelope, SyncMessage } from 'rabbitmq-client';
import type { BusMessage, OutgoingMessage } from '../bus.ts';

/** Headers of the transport itself; everything else in the table belongs to the message. */
const own = {
  /** The topic, where the message took another way into its queue. */
  topic: 'legate-topic',
  attempt: 'legate-attempt',
  reason: 'legate-reason',
  /** Milliseconds since 1970. */
  diedAt: 'legate-died-at',
} as const;

type Received = AsyncMessage | SyncMessage;

/** What the broker itself notes about a message that it moved to a dead-letter queue. */
interface Death {
  readonly reason?: unknown;
  readonly time?: unknown;
}

export interface WireMessage {
  readonly message: BusMessage;
  readonly attempt: number;
  readonly isRedelivered: boolean;
  readonly death: { readonly reason: string; readonly diedAt: number } | undefined;
}

/** Made in one go and not by copies: this is on the path of every message. */
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
  const envelope: Envelope = {
    exchange: way.exchange,
    routingKey: way.topic,
    mandatory: way.mandatory,
    messageId: way.id,
    type: message.type,
    contentType: 'application/json',
    // Keeps the client library from parsing the body: that is done once, within bounds.
    contentEncoding: 'utf-8',
    durable: message.persistent ?? true,
    timestamp: Math.floor(way.now / 1000),
  };
  if (message.correlationId !== undefined) envelope.correlationId = message.correlationId;
  if (message.replyTo !== undefined) envelope.replyTo = message.replyTo;
  if (message.headers !== undefined) envelope.headers = message.headers;
  return envelope;
}

/** The same message once more: on its way to a retry, to the dead, or back from there. */
export function toEnvelopeAgain(
  message: BusMessage,
  marks: {
    readonly attempt?: number;
    readonly reason?: string;
    readonly diedAt?: number;
  },
): Envelope {
  return {
    messageId: message.id,
    type: message.type,
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    durable: true,
    ...(message.correlationId !== undefined && { correlationId: message.correlationId }),
    ...(message.replyTo !== undefined && { replyTo: message.replyTo }),
    headers: {
      ...message.headers,
      [own.topic]: message.topic,
      ...(marks.attempt !== undefined && { [own.attempt]: String(marks.attempt) }),
      ...(marks.reason !== undefined && { [own.reason]: marks.reason.slice(0, 500) }),
      ...(marks.diedAt !== undefined && { [own.diedAt]: String(marks.diedAt) }),
    },
  };
}

/** What came from the broker, whoever sent it: fields of other types count as absent. */
export function fromWire(received: Received, newId: () => string): WireMessage {
  const table = (received.headers ?? {}) as Readonly<Record<string, unknown>>;
  const headers: Record<string, string> = {};
  for (const name of Object.keys(table)) {
    const value = table[name];
    // A text that is assigned to `__proto__` is gone, and changes nothing.
    if (typeof value === 'string' && !name.startsWith('legate-')) headers[name] = value;
  }
  const { correlationId, replyTo, messageId, type } = received;
  return {
    message: {
      id: textOf(messageId) ?? newId(),
      type: textOf(type) ?? '',
      body: bodyOf(received.body),
      topic: textOf(table[own.topic]) ?? received.routingKey,
      correlationId: textOf(correlationId),
      replyTo: textOf(replyTo),
      headers,
    },
    attempt: numberOf(table[own.attempt]) ?? 1,
    isRedelivered: received.redelivered,
    death: deathOf(table),
  };
}

function deathOf(table: Readonly<Record<string, unknown>>): WireMessage['death'] {
  const reason = textOf(table[own.reason]);
  if (reason !== undefined) return { reason, diedAt: numberOf(table[own.diedAt]) ?? 0 };
  const deaths: unknown = table['x-death'];
  const latest = Array.isArray(deaths) ? (deaths[0] as Death | undefined) : undefined;
  if (latest === undefined) return undefined;
  const seconds = typeof latest.time === 'number' ? latest.time : 0;
  return { reason: textOf(latest.reason) ?? 'unknown', diedAt: seconds * 1000 };
}

/** The library gives text and parsed objects where a sender did not name an encoding. */
function bodyOf(body: unknown): string {
  if (Buffer.isBuffer(body)) return body.toString('utf8');
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
