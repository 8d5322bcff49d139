import { hash } from 'node:crypto';
import { idProblem, LegateError } from '../../protocol/index.ts';
import type { Bus, OutgoingMessage } from './bus.ts';

/** The name of an agent or caller on the bus: no separators and no wildcards. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
/** A topic is made of words of the same letters, separated by dots. */
const topicPattern = /^[A-Za-z0-9_-]{1,110}(?:\.[A-Za-z0-9_-]{1,110}){0,7}$/;

/**
 * Whether a name can be part of a topic.
 * @example isBusName('agent.#') // false
 */
export function isBusName(name: unknown): name is string {
  return typeof name === 'string' && namePattern.test(name);
}

/**
 * Returns the name, or throws `INVALID_PARAMS`. Topics are made of checked names only: `#`, `*` and `.`
 * would bind to the topics of others.
 * @example checkBusName('researcher', 'the agent') // 'researcher'
 */
export function checkBusName(name: string, what = 'the name'): string {
  if (isBusName(name)) return name;
  throw new LegateError(
    'INVALID_PARAMS',
    `${what} ${JSON.stringify(String(name).slice(0, 100))} cannot be used on the bus: ` +
      'use 1 to 100 letters, digits, "-" and "_", starting with a letter or digit',
  );
}

/** Returns the topic, or throws `INVALID_PARAMS`: for topics from other senders, such as a reply topic. */
export function checkTopic(topic: string): string {
  if (typeof topic === 'string' && topicPattern.test(topic)) return topic;
  throw new LegateError(
    'INVALID_PARAMS',
    `${JSON.stringify(topic.slice(0, 100))} is not a topic: use words of letters, digits, "-" and "_" with dots between`,
  );
}

const gatewayPrefix = 'agent.response.gateway.';

/**
 * Whether a topic is that of a caller of RockBot's gateway, which adds the caller's id as it is, such as
 * `auth0|7` or `ada@example.com`. Wildcards have a meaning in bindings only.
 */
export function isGatewayTopic(topic: string): boolean {
  const id = topic.slice(gatewayPrefix.length);
  const isPlain = topic.startsWith(gatewayPrefix) && id !== '' && idProblem(id) === undefined;
  return isPlain && Buffer.byteLength(topic) <= maxIdBytes;
}

const queueNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** Returns the name, or throws `INVALID_PARAMS`. */
export function checkQueueName(name: string): string {
  if (queueNamePattern.test(name)) return name;
  throw new LegateError(
    'INVALID_PARAMS',
    `${JSON.stringify(name.slice(0, 100))} is not a queue name: use letters, digits, ".", "-" and "_"`,
  );
}

/**
 * The maximum size of the headers of a message, in bytes. A header frame of AMQP has 8 KiB, and also
 * holds the ids, the topic and the reason of a dead letter: a received message can always be sent again.
 */
export const maxHeaderBytes = 6_000;
/** Ids and names are short strings of AMQP. */
export const maxIdBytes = 255;
/** The bytes for the length of the name, the type, and the length of the value. */
const bytesPerHeader = 6;

/** The size of headers on the wire, in bytes. */
export function headerBytes(headers: Readonly<Record<string, string>> = {}): number {
  let size = 0;
  for (const name in headers) {
    const nameBytes = Buffer.byteLength(name);
    // A name that is too long can't be encoded.
    if (nameBytes > maxIdBytes) return Number.POSITIVE_INFINITY;
    size += bytesPerHeader + nameBytes + Buffer.byteLength(headers[name] ?? '');
  }
  return size;
}

/** Truncates a text to whole characters. */
export function cutText(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Throws for a message that must not be published. */
export function checkOutgoing(topic: string, message: OutgoingMessage, maxBodyBytes: number): void {
  if (!isGatewayTopic(topic)) checkTopic(topic);
  if (message.replyTo !== undefined) checkTopic(message.replyTo);
  checkId(message.id);
  checkId(message.correlationId);
  const headersSize = headerBytes(message.headers);
  if (headersSize > maxHeaderBytes) {
    throw new LegateError(
      'INVALID_PARAMS',
      `headers of ${headersSize} bytes can't be sent over the bus: at most ${maxHeaderBytes}`,
    );
  }
  const size = Buffer.byteLength(message.body);
  if (size <= maxBodyBytes) return;
  throw new LegateError(
    'PAYLOAD_TOO_LARGE',
    `a message of ${size} bytes is too large for the bus: at most ${maxBodyBytes} (maxBodyBytes); send files by their address`,
  );
}

function checkId(id: string | undefined): void {
  if (id === undefined || Buffer.byteLength(id) <= maxIdBytes) return;
  throw new LegateError(
    'INVALID_PARAMS',
    `an id of more than ${maxIdBytes} bytes can't be sent over the bus`,
  );
}

const unreachable = 'the message broker cannot be reached';
const blocked = 'the message broker blocks publishers because of a memory or disk alarm';

export function brokerUnreachable(): LegateError {
  return new LegateError('UNAVAILABLE', unreachable, { retryAfter: 5 });
}

/** A readiness check for processes that need the broker: gateways and workers. */
export function brokerRequirement(
  bus: Pick<Bus, 'isConnected' | 'isBlocked'>,
): () => string | undefined {
  // A connection that is blocked does not count as connected either.
  return () => (bus.isBlocked ? blocked : bus.isConnected ? undefined : unreachable);
}

export function unroutable(topic: string): LegateError {
  return new LegateError(
    'PEER_UNREACHABLE',
    `no queue is bound to ${topic}: check the name, start the agent, or declare its queue`,
    { metadata: { topic } },
  );
}

export function queueFull(topic: string): LegateError {
  return new LegateError('UNAVAILABLE', `the queue of ${topic} is full; try again later`, {
    metadata: { topic },
    retryAfter: 30,
  });
}

export function busClosed(): LegateError {
  return new LegateError('UNAVAILABLE', 'the bus is closed');
}

/** The longest name to which a UUID can be added. */
const maxNameLength = 63;

/**
 * A name for one process of an agent, gateway or caller. It starts with their name, so that a permission
 * for the queues of that name covers it.
 */
export function ownName(name: string, ids: { uuid(): string }): string {
  return `${shortened(name)}-${ids.uuid()}`;
}

/** A name to which a UUID can be added. A digest distinguishes names with the same prefix. */
export function shortened(name: string): string {
  if (name.length <= maxNameLength) return name;
  const digest = hash('sha256', name, 'hex').slice(0, 12);
  return `${name.slice(0, maxNameLength - 13)}-${digest}`;
}
