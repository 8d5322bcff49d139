import { LegateError } from '../../protocol/index.ts';
import type { OutgoingMessage, Queue } from './bus.ts';
import { checkTopic } from './topics.ts';

const queueNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** Throws for a declaration that no broker must see. */
export function checkQueue(queue: Queue): void {
  checkQueueName(queue.name);
  for (const topic of queue.topics) checkTopic(topic);
}

export function checkQueueName(name: string): void {
  if (queueNamePattern.test(name)) return;
  throw new LegateError(
    'INVALID_PARAMS',
    `${JSON.stringify(name.slice(0, 100))} is not a queue name: use letters, digits, ".", "-" and "_"`,
  );
}

/**
 * What the headers of a message may take, in bytes. A header frame of AMQP has 8 KiB, and holds the
 * ids, the reason of a dead letter and the topic besides: what was taken can always be sent again.
 */
export const maxHeaderBytes = 6_000;
/** Ids and names are short strings of AMQP. */
export const maxIdBytes = 255;
/** Each header has a name with its length, a type, and the length of its value. */
const bytesPerHeader = 6;

/** The size of headers on the wire, in bytes. */
export function headerBytes(headers: Readonly<Record<string, string>> = {}): number {
  let size = 0;
  for (const name in headers) {
    const nameBytes = Buffer.byteLength(name);
    // A name that does not fit cannot travel at all.
    if (nameBytes > maxIdBytes) return Number.POSITIVE_INFINITY;
    size += bytesPerHeader + nameBytes + Buffer.byteLength(headers[name] ?? '');
  }
  return size;
}

/** The beginning of a text that fits, in whole characters. */
export function cutText(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Throws for a message that must not travel. */
export function checkOutgoing(topic: string, message: OutgoingMessage, maxBodyBytes: number): void {
  checkTopic(topic);
  if (message.replyTo !== undefined) checkTopic(message.replyTo);
  checkId(message.id);
  checkId(message.correlationId);
  const headersSize = headerBytes(message.headers);
  if (headersSize > maxHeaderBytes) {
    throw new LegateError(
      'INVALID_PARAMS',
      `headers of ${headersSize} bytes cannot travel on the bus: at most ${maxHeaderBytes}`,
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
    `an id of more than ${maxIdBytes} bytes cannot travel on the bus`,
  );
}

export function unroutable(topic: string): LegateError {
  return new LegateError(
    'PEER_UNREACHABLE',
    `nobody listens at ${topic} and no queue was declared for it: check the name, start the agent, or declare its queue`,
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
