import type { AsyncMessage, Channel, Connection } from 'rabbitmq-client';
import { LegateError } from '../../../protocol/index.ts';
import type { Scheduler } from '../../../tasks/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { backoff, retry, sleep } from '../../../time/index.ts';
import type { AckDecision, ConsumeOptions, Delivery, QueueSettings } from '../bus.ts';
import { ConsumerPool } from '../consumer-pool.ts';
import type { RabbitPublisher } from './publisher.ts';
import {
  deadQueueName,
  declareRetryQueue,
  declareTopology,
  type QueueType,
  retryQueueName,
} from './topology.ts';
import { fromWire, toEnvelopeAgain } from './wire.ts';

interface Held extends Delivery {
  /** A delivery can be settled only on the channel it came by. */
  readonly channel: Channel;
  readonly tag: number;
  readonly isRejectable: boolean;
}

export interface RabbitConsumerOptions {
  readonly connection: Connection;
  readonly publisher: RabbitPublisher;
  readonly exchange: string;
  readonly queueType: QueueType;
  readonly settings: QueueSettings;
  readonly handler: (delivery: Delivery) => Promise<AckDecision>;
  readonly consume: ConsumeOptions;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

const pauses = { initialMs: 100, maximumMs: 10_000 };

/**
 * Consumes one queue.
 *
 * - **opening**: declares the topology and starts to consume; after a lost channel, retried with backoff.
 * - **consuming**: deliveries go to the pool, and are settled on the channel they came by.
 * - **lost**: the channel is gone. Deliveries that were not started are dropped, since the broker
 *   redelivers them; started ones continue, and can no longer be settled. Leads to **opening** at once:
 *   running turns must not keep a consumer from new messages.
 * - **closed**.
 */
export class RabbitConsumer {
  readonly #options: RabbitConsumerOptions;
  readonly #pool: ConsumerPool<Held>;
  readonly #retryQueues = new Set<number>();
  readonly #prefetch: number;
  #left: number;
  #channel: Channel | undefined;
  #consumerTag: string | undefined;
  readonly #closing = new AbortController();
  #reopening: Promise<void> | undefined;

  constructor(options: RabbitConsumerOptions) {
    this.#options = options;
    const { prefetch = 10, concurrency = prefetch, limit } = options.consume;
    this.#left = limit ?? Number.POSITIVE_INFINITY;
    this.#prefetch = Math.min(prefetch, this.#left);
    this.#pool = new ConsumerPool({
      handler: options.handler,
      concurrency,
      logger: options.logger,
      settle: (held, decision) => this.#settle(held, decision),
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const settled = this.#pool.close();
    this.#pool.withdraw();
    await this.#reopening;
    await this.#cancel();
    await settled;
    // The broker requeues unsettled deliveries with the channel.
    await this.#channel?.close();
  }

  /** Resolves once messages are consumed; rejects when the broker refuses it. */
  async open(): Promise<void> {
    const { connection, settings, exchange, queueType, logger } = this.#options;
    await declareTopology(connection, exchange, settings, { queueType, logger });
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    channel.on('error', (error: unknown) => {
      logger.warn({ queue: settings.name, error }, 'bus.channel.failed');
    });
    channel.once('close', () => this.#lost(channel));
    // The broker cancels a consumer whose queue is deleted.
    channel.once('basic.cancel', () => void channel.close());
    try {
      await channel.basicQos({ prefetchCount: this.#prefetch });
      const { consumerTag } = await channel.basicConsume({ queue: settings.name }, (message) =>
        this.#receive(channel, message),
      );
      // A channel that is lost from here on is reopened by `#lost`.
      if (!channel.active) throw new Error('the channel was lost while it was opened');
      this.#channel = channel;
      this.#consumerTag = consumerTag;
    } catch (error) {
      await channel.close();
      throw error;
    }
  }

  #lost(channel: Channel): void {
    this.#pool.withdraw((held) => held.channel === channel);
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    this.#consumerTag = undefined;
    this.#retryQueues.clear();
    if (!this.#closing.signal.aborted && this.#left > 0) this.#reopening = this.#reopen();
  }

  /** Retries until the consumer is closed. */
  async #reopen(): Promise<void> {
    const { scheduler, logger, settings } = this.#options;
    const { signal } = this.#closing;
    const queue = settings.name;
    const wait = (milliseconds: number) => sleep(milliseconds, signal, scheduler);
    try {
      // Prevents a tight loop if the broker closes each channel at once.
      await wait(pauses.initialMs);
      await retry(() => this.open(), {
        signal,
        delays: (failures) => backoff(failures, pauses),
        sleep: wait,
        onRetry: ({ error }) => logger.warn({ queue, error }, 'bus.consumer.reopen_failed'),
      });
      logger.info({ queue }, 'bus.consumer.reopened');
    } catch (error) {
      logger.debug({ queue, error }, 'bus.consumer.reopen_failed');
    }
  }

  async #cancel(): Promise<void> {
    const channel = this.#channel;
    const consumerTag = this.#consumerTag;
    this.#consumerTag = undefined;
    if (channel?.active !== true || consumerTag === undefined) return;
    await channel.basicCancel({ consumerTag }).catch((error: unknown) => {
      this.#options.logger.debug({ error }, 'bus.consumer.cancel_failed');
    });
  }

  /** The library calls this outside of any promise: an error would end the process. */
  #receive(channel: Channel, received: AsyncMessage): void {
    const { settings, logger } = this.#options;
    try {
      this.#take(channel, received);
    } catch (error) {
      logger.error({ queue: settings.name, error }, 'bus.message.dropped');
      settle(channel, received.deliveryTag, 'ack');
    }
  }

  #take(channel: Channel, received: AsyncMessage): void {
    const { settings, scheduler } = this.#options;
    if (this.#closing.signal.aborted || this.#left <= 0) return;
    const { message, attempt, isRedelivered, refusal, isRejectable } = fromWire(received, {
      newId: () => scheduler.uuid(),
      topics: settings.topics,
    });
    const held: Held = {
      ...message,
      attempt,
      isLastAttempt: attempt > settings.retryDelaysMs.length,
      isRedelivered,
      channel,
      tag: received.deliveryTag,
      isRejectable,
    };
    if (refusal !== undefined) {
      void this.#refuse(held, refusal);
      return;
    }
    this.#left -= 1;
    // Before the first acknowledgement, so that the broker delivers nothing more meanwhile.
    if (this.#left <= 0) void this.#cancel();
    this.#pool.offer(held);
  }

  /**
   * Only the ids of a refused message are known. It is rejected where possible, so that the broker
   * moves the original to the dead letters; otherwise only ids and reason are kept.
   */
  async #refuse(held: Held, reason: string): Promise<void> {
    const { settings, logger, consume } = this.#options;
    const { channel, tag, id } = held;
    logger.warn({ queue: settings.name, messageId: id, reason }, 'bus.message.refused');
    try {
      await consume.onRefused?.(held, reason);
    } catch (error) {
      logger.warn({ queue: settings.name, messageId: id, error }, 'bus.refusal.notify_failed');
    }
    if (held.isRejectable) {
      settle(channel, tag, 'reject');
      return;
    }
    try {
      await this.#bury(held, { reason, isRefused: true });
    } catch (error) {
      // Acknowledged anyway: an unreadable message must not be redelivered forever.
      logger.error({ queue: settings.name, messageId: id, error }, 'bus.settle.failed');
    }
    settle(channel, tag, 'ack');
  }

  async #settle(held: Held, decision: AckDecision): Promise<void> {
    const { channel, tag, isRejectable } = held;
    if (decision.kind === 'done') return settle(channel, tag, 'ack');
    if (decision.kind === 'release') return settle(channel, tag, 'requeue');
    try {
      await this.#retryOrBury(held, decision);
    } catch (error) {
      // The broker can always move it itself; its reason is then "rejected", and the log has ours.
      const isFinal = this.#isDead(held, decision) || isRefusedMessage(error);
      settle(channel, tag, !isFinal ? 'requeue' : isRejectable ? 'reject' : 'ack');
      throw error;
    }
    return settle(channel, tag, 'ack');
  }

  #isDead({ attempt }: Held, { kind }: AckDecision): boolean {
    return kind === 'dead' || attempt > this.#options.settings.retryDelaysMs.length;
  }

  async #retryOrBury(
    held: Held,
    decision: Extract<AckDecision, { reason: string }>,
  ): Promise<void> {
    const { settings, publisher, logger } = this.#options;
    const { attempt } = held;
    const delay = settings.retryDelaysMs[attempt - 1];
    if (!this.#isDead(held, decision) && delay !== undefined) {
      await this.#declareRetry(delay);
      const routingKey = retryQueueName(settings.name, delay);
      const envelope = toEnvelopeAgain(held, { attempt: attempt + 1 });
      try {
        await publisher.send({ ...envelope, routingKey, mandatory: true }, held.body, {
          confirm: true,
        });
      } catch (error) {
        // The retry queue may have expired or been deleted: it is declared again the next time.
        this.#retryQueues.delete(delay);
        throw error;
      }
      return;
    }
    const { reason } = decision;
    logger.warn({ queue: settings.name, messageId: held.id, reason }, 'bus.dead_letter');
    await this.#bury(held, { reason });
  }

  async #bury(
    held: Held,
    marks: { readonly reason: string; readonly isRefused?: boolean },
  ): Promise<void> {
    const { settings, publisher, scheduler } = this.#options;
    if (settings.deadLetters === undefined) return;
    const { attempt, body } = held;
    const envelope = toEnvelopeAgain(held, { ...marks, attempt, diedAt: scheduler.now() });
    const routingKey = deadQueueName(settings.name);
    await publisher.send({ ...envelope, routingKey, mandatory: true }, body, { confirm: true });
  }

  async #declareRetry(delay: number): Promise<void> {
    if (this.#retryQueues.has(delay)) return;
    const { connection, settings, queueType, logger } = this.#options;
    await declareRetryQueue(connection, settings, delay, { queueType, logger });
    this.#retryQueues.add(delay);
  }
}

/**
 * `requeue` returns a delivery to the queue; `reject` has the broker move it to the dead letters of its
 * queue, or drop it where there are none. On a lost channel nothing can be settled: the broker
 * redelivers.
 */
function settle(channel: Channel, deliveryTag: number, how: 'ack' | 'requeue' | 'reject'): void {
  if (!channel.active) return;
  if (how === 'ack') channel.basicAck({ deliveryTag });
  else channel.basicNack({ deliveryTag, requeue: how === 'requeue' });
}

/** The message itself can't be sent, now or later. */
function isRefusedMessage(error: unknown): boolean {
  return error instanceof LegateError && error.code === 'INVALID_PARAMS';
}
