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
    `${JSON.stringify(name.slice(0, 100))} is no name of a queue: use letters, digits, ".", "-" and "_"`,
  );
}

/** What fits beside a body in one frame of AMQP. */
const maxHeaderLength = 4_096;
const maxIdBytes = 255;

/** Throws for a message that must not travel. */
export function checkOutgoing(topic: string, message: OutgoingMessage, maxBodyBytes: number): void {
  checkTopic(topic);
  if (message.replyTo !== undefined) checkTopic(message.replyTo);
  checkId(message.id);
  checkId(message.correlationId);
  let length = 0;
  for (const name in message.headers) length += name.length + (message.headers[name]?.length ?? 0);
  if (length > maxHeaderLength) {
    throw new LegateError(
      'INVALID_PARAMS',
      `headers of ${length} characters cannot travel on the bus: at most ${maxHeaderLength}`,
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
