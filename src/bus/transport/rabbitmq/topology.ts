import type { Channel, Connection } from 'rabbitmq-client';
import type { Logger } from '../../../telemetry/index.ts';
import type { QueueSettings } from '../bus.ts';

export type QueueType = 'quorum' | 'classic';

const day = 24 * 60 * 60 * 1000;

type Arguments = Record<string, string | number>;

export function deadQueueName(queueName: string): string {
  return `${queueName}.dead`;
}

export function retryQueueName(queueName: string, delayMs: number): string {
  return `${queueName}.retry.${delayMs}`;
}

/**
 * Declares exchange, queue, bindings and the queue of dead letters. A queue that exists with other
 * arguments is used as it is: changing them would mean deleting it with its messages.
 */
export async function declareTopology(
  connection: Connection,
  exchange: string,
  settings: QueueSettings,
  options: { readonly queueType: QueueType; readonly logger: Logger },
): Promise<void> {
  const { name, deadLetters } = settings;
  if (deadLetters !== undefined) {
    // The default exchange routes dead letters to the queue of this name.
    await declareQueue(connection, deadQueueName(name), options.logger, {
      'x-message-ttl': deadLetters.ttlMs,
      'x-max-length': deadLetters.maxMessages,
      'x-max-length-bytes': deadLetters.maxBytes,
      'x-overflow': 'drop-head',
      ...(settings.expiresAfterMs !== undefined && { 'x-expires': deadLetters.ttlMs }),
    });
  }
  await declareQueue(connection, name, options.logger, mainArguments(settings, options.queueType));
  await withChannel(connection, async (channel) => {
    await channel.exchangeDeclare({ exchange, type: 'topic', durable: true });
    for (const routingKey of settings.topics) {
      await channel.queueBind({ exchange, queue: name, routingKey });
    }
  });
}

/** Declares the queue where messages wait for a retry; the broker then moves them back. */
export async function declareRetryQueue(
  connection: Connection,
  settings: QueueSettings,
  delayMs: number,
  options: { readonly queueType: QueueType; readonly logger: Logger },
): Promise<void> {
  await declareQueue(connection, retryQueueName(settings.name, delayMs), options.logger, {
    'x-message-ttl': delayMs,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': settings.name,
    // Waiting messages must have the time to move back.
    ...(settings.expiresAfterMs !== undefined && {
      'x-expires': settings.expiresAfterMs + 2 * delayMs,
    }),
    ...(options.queueType === 'quorum' && {
      'x-queue-type': 'quorum',
      // Keeps the message until its queue has accepted it.
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    }),
  });
}

function mainArguments(settings: QueueSettings, queueType: QueueType): Arguments {
  const { name, messageTtlMs, expiresAfterMs, maxMessages, deadLetters } = settings;
  // The queue of one process is not replicated.
  const isQuorum = queueType === 'quorum' && (expiresAfterMs ?? day) >= day;
  return {
    'x-max-length': maxMessages,
    'x-overflow': 'reject-publish',
    // A message that crashes its consumer is dead after so many deliveries.
    ...(isQuorum && { 'x-queue-type': 'quorum', 'x-delivery-limit': 20 }),
    ...(messageTtlMs !== undefined && { 'x-message-ttl': messageTtlMs }),
    ...(expiresAfterMs !== undefined && { 'x-expires': expiresAfterMs }),
    ...(deadLetters !== undefined && {
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': deadQueueName(name),
    }),
  };
}

async function declareQueue(
  connection: Connection,
  queue: string,
  logger: Logger,
  args: Arguments,
): Promise<void> {
  try {
    await withChannel(connection, (channel) =>
      channel.queueDeclare({ queue, durable: true, arguments: args }),
    );
  } catch (error) {
    if (codeOf(error) !== 'PRECONDITION_FAILED') throw error;
    logger.warn({ queue, error }, 'bus.queue.arguments_differ');
    await withChannel(connection, (channel) => channel.queueDeclare({ queue, passive: true }));
  }
}

/** A refused declaration closes the channel, so each has its own. */
export async function withChannel<T>(
  connection: Connection,
  work: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on('error', () => undefined);
  try {
    return await work(channel);
  } finally {
    await channel.close();
  }
}

/** The error code of the broker or the library. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}
