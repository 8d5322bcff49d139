import type { AsyncMessage, Channel, Connection } from 'rabbitmq-client';
import { LegateError } from '../../../protocol/index.ts';
import type { Scheduler } from '../../../tasks/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { backoff, retry, sleep } from '../../../time/index.ts';
import type { AckDecision, ConsumeOptions, Delivery, QueueSettings } from '../bus.ts';
import { ConsumerPool } from '../consumer-pool.ts';
import { Slots } from '../slots.ts';
import { bury } from './bury.ts';
import type { RabbitPublisher } from './publisher.ts';
import { retryQueueName } from './queue-plan.ts';
import type { Topology } from './topology.ts';
import { fromWire, toEnvelopeAgain } from './wire.ts';

interface Held extends Delivery {
  /** A delivery can be settled only on the channel that delivered it. */
  readonly channel: Channel;
  readonly tag: number;
  readonly consumerTag: string;
  readonly isRejectable: boolean;
  /** Set by `acknowledge`, before its handler has ended. */
  isAcknowledged: boolean;
}

export interface RabbitConsumerOptions {
  readonly connection: Connection;
  readonly publisher: RabbitPublisher;
  readonly topology: Topology;
  readonly settings: QueueSettings;
  readonly handler: (delivery: Delivery) => Promise<AckDecision>;
  readonly consume: ConsumeOptions;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Called after each failed attempt to consume again. */
  readonly onReopenFailed: (failed: { readonly queue: string; readonly error: unknown }) => void;
}

const pauses = { initialMs: 100, maximumMs: 10_000 };

/**
 * Consumes one queue.
 *
 * - **opening**: declares the topology and starts to consume; after a lost channel, retried with backoff.
 * - **consuming**: deliveries go to the pool, and are settled on the channel that delivered them.
 * - **lost**: the channel is gone. Deliveries that were not started are dropped, since the broker
 *   redelivers them; started ones continue, and can no longer be settled. Leads to **opening** at once:
 *   running turns must not block new messages.
 * - **closed**.
 */
export class RabbitConsumer {
  readonly #options: RabbitConsumerOptions;
  readonly #pool: ConsumerPool<Held>;
  readonly #retryQueues = new Set<number>();
  readonly #prefetch: number;
  #left: number;
  #channel: Channel | undefined;
  /** The queue that is consumed now. */
  #queue = '';
  #consumerTags = new Set<string>();
  /** Consumers whose delivery is not settled. */
  readonly #busy = new Set<string>();
  readonly #slots: Slots;
  readonly #stopListening: () => void;
  /** The number of running handlers whose deliveries are acknowledged. */
  #acknowledged = 0;
  #filling: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();
  #reopening: Promise<void> | undefined;

  constructor(options: RabbitConsumerOptions) {
    this.#options = options;
    const { prefetch = 10, concurrency = prefetch, limit } = options.consume;
    this.#left = limit ?? Number.POSITIVE_INFINITY;
    this.#prefetch = Math.min(prefetch, this.#left);
    this.#slots = options.consume.slots ?? new Slots(concurrency);
    this.#stopListening = this.#slots.onChange(() => {
      if (this.#isSplit && this.#consumerTags.size !== this.#wanted) this.#refill();
    });
    this.#pool = new ConsumerPool({
      handler: options.handler,
      slots: this.#slots,
      logger: options.logger,
      settle: (held, decision) => this.#settle(held, decision),
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopListening();
    const settled = this.#pool.close();
    this.#pool.withdraw();
    await this.#reopening;
    await this.#filling;
    await this.#cancel();
    await settled;
    // The broker requeues unsettled deliveries with the channel.
    await this.#channel?.close();
  }

  /** Resolves once messages are consumed; rejects when the broker refuses it. */
  async open(): Promise<void> {
    const { connection, settings, topology, scheduler, logger } = this.#options;
    const { queue, differs } = await topology.ensure(settings, scheduler.uuid().slice(0, 8));
    if (differs) this.#options.consume.onDiffers?.();
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    channel.on('error', (error: unknown) => {
      logger.warn({ queue: settings.name, error }, 'bus.channel.failed');
    });
    channel.once('close', () => this.#lost(channel));
    // The broker cancels a consumer whose queue is deleted.
    channel.once('basic.cancel', () => void channel.close());
    try {
      await channel.basicQos({ prefetchCount: this.#isSplit ? 1 : this.#prefetch });
      this.#queue = queue;
      this.#consumerTags = new Set();
      await this.#fill(channel);
      // A channel that is lost from here on is reopened by `#lost`.
      if (!channel.active) throw new Error('the channel was lost while it was opened');
      this.#channel = channel;
    } catch (error) {
      await channel.close();
      throw error;
    }
    if (this.#isSplit) this.#refill();
  }

  /** One consumer at the broker for each delivery, so that each can be cancelled separately. */
  get #isSplit(): boolean {
    return this.#options.consume.acknowledgesEarly === true;
  }

  /** The target number of consumers at the broker. */
  get #wanted(): number {
    if (!this.#isSplit) return 1;
    return Math.max(0, this.#prefetch - this.#acknowledged - this.#slots.reserved);
  }

  /** Starts the consumers that are missing at the broker, and stops idle ones whose slots are reserved. */
  async #fill(channel: Channel): Promise<void> {
    for (const tag of this.#consumerTags) {
      if (this.#consumerTags.size <= this.#wanted) break;
      if (!this.#busy.has(tag)) await this.#stopOne(channel, tag);
    }
    for (;;) {
      if (this.#consumerTags.size >= this.#wanted || this.#left <= 0 || !channel.active) return;
      const { consumerTag } = await channel.basicConsume({ queue: this.#queue }, (message) =>
        this.#receive(channel, message),
      );
      this.#consumerTags.add(consumerTag);
    }
  }

  /** In sequence, so that no two of them start the same consumer. */
  #refill(): void {
    this.#filling = this.#filling.then(async () => {
      const channel = this.#channel;
      if (channel === undefined || this.#closing.signal.aborted) return;
      try {
        await this.#fill(channel);
      } catch (error) {
        this.#options.logger.debug({ queue: this.#queue, error }, 'bus.consumer.refill_failed');
      }
    });
  }

  /**
   * Acknowledges a delivery whose handler continues. Its consumer is stopped first: the broker would
   * send another message, which would wait here, unacknowledged, for as long as the handler runs.
   */
  async #acknowledge(held: Held): Promise<void> {
    if (held.isAcknowledged) return;
    const { channel, consumerTag, tag } = held;
    if (!channel.active) throw new Error('the channel of the delivery is lost');
    held.isAcknowledged = true;
    this.#acknowledged += 1;
    if (this.#isSplit) await this.#stopOne(channel, consumerTag);
    settle(channel, tag, 'ack');
  }

  async #stopOne(channel: Channel, consumerTag: string): Promise<void> {
    if (!this.#consumerTags.delete(consumerTag)) return;
    await channel.basicCancel({ consumerTag }).catch((error: unknown) => {
      this.#options.logger.debug({ error }, 'bus.consumer.cancel_failed');
    });
  }

  #lost(channel: Channel): void {
    this.#pool.withdraw((held) => held.channel === channel);
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    this.#consumerTags.clear();
    this.#busy.clear();
    this.#retryQueues.clear();
    if (!this.#closing.signal.aborted && this.#left > 0) this.#reopening = this.#reopen();
  }

  /** Retries until the consumer is closed. */
  async #reopen(): Promise<void> {
    const { scheduler, logger, settings, onReopenFailed } = this.#options;
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
        onRetry: ({ error }) => onReopenFailed({ queue, error }),
      });
      logger.info({ queue }, 'bus.consumer.reopened');
      this.#options.consume.onReopened?.();
    } catch (error) {
      // `close` ends the retries.
      if (!signal.aborted) throw error;
    }
  }

  async #cancel(): Promise<void> {
    const channel = this.#channel;
    const tags = [...this.#consumerTags];
    this.#consumerTags.clear();
    if (channel?.active !== true) return;
    for (const consumerTag of tags) {
      await channel.basicCancel({ consumerTag }).catch((error: unknown) => {
        this.#options.logger.debug({ error }, 'bus.consumer.cancel_failed');
      });
    }
  }

  /** The library calls this outside of any promise: an error would crash the process. */
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
      consumerTag: received.consumerTag,
      isRejectable,
      isAcknowledged: false,
      acknowledge: () => this.#acknowledge(held),
    };
    if (refusal !== undefined) {
      void this.#refuse(held, refusal);
      return;
    }
    if (isRedelivered) {
      const { id: messageId, correlationId } = message;
      const redelivered = { queue: settings.name, messageId, correlationId };
      this.#options.logger.info(redelivered, 'bus.message.redelivered');
    }
    this.#left -= 1;
    this.#busy.add(held.consumerTag);
    // Before the first acknowledgement, so that the broker delivers nothing more meanwhile.
    if (this.#left <= 0) void this.#cancel();
    this.#pool.offer(held);
  }

  /**
   * Only the ids of a refused message are known. It is rejected if possible, so that the broker moves the
   * original to the dead letters; otherwise only ids and reason are kept.
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
    const { channel, tag, consumerTag, isRejectable } = held;
    this.#busy.delete(consumerTag);
    // Before the delivery is settled, so that the broker sends no other one.
    const isExcess = this.#isSplit && this.#consumerTags.size > this.#wanted;
    if (isExcess && channel.active) await this.#stopOne(channel, consumerTag);
    if (held.isAcknowledged) {
      this.#acknowledged -= 1;
      this.#refill();
      return;
    }
    if (decision.kind === 'done') return settle(channel, tag, 'ack');
    if (decision.kind === 'release') return settle(channel, tag, 'requeue');
    try {
      await this.#retryOrBury(held, decision);
    } catch (error) {
      // The broker can always move it itself. The letter then has the reason "rejected"; the log has ours.
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
    const { settings, publisher, topology, logger } = this.#options;
    const { exchange } = topology.layout;
    const { attempt } = held;
    const delay = settings.retryDelaysMs[attempt - 1];
    if (!this.#isDead(held, decision) && delay !== undefined) {
      await this.#declareRetry(delay);
      const routingKey = retryQueueName(settings.name, delay);
      const envelope = toEnvelopeAgain(held, { attempt: attempt + 1 });
      try {
        await publisher.send({ ...envelope, exchange, routingKey, mandatory: true }, held.body, {
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

  #bury(
    held: Held,
    marks: { readonly reason: string; readonly isRefused?: boolean },
  ): Promise<void> {
    const { settings, publisher, topology, scheduler } = this.#options;
    const { attempt } = held;
    return bury(
      { settings, message: held, marks: { ...marks, attempt } },
      { publisher, layout: topology.layout, scheduler },
    );
  }

  async #declareRetry(delay: number): Promise<void> {
    if (this.#retryQueues.has(delay)) return;
    const { topology, settings } = this.#options;
    await topology.ensureRetry(settings, delay);
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
