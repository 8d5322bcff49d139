import type { TcpNetConnectOpts } from 'node:net';
import { Connection } from 'rabbitmq-client';
import { LegateError } from '../../../protocol/index.ts';
import { type Scheduler, systemScheduler } from '../../../tasks/index.ts';
import { type Logger, silentLogger } from '../../../telemetry/index.ts';
import {
  type Bus,
  type BusTuning,
  type ConsumeOptions,
  type Consumption,
  type DeadLetter,
  defaultMaxBodyBytes,
  type Delivery,
  type OutgoingMessage,
  type PublishOptions,
  type Queue,
  type QueueState,
  type AckDecision,
  withDefaults,
} from '../bus.ts';
import { busClosed, checkOutgoing, checkQueue, checkQueueName } from '../refusals.ts';
import { guardedReads } from './content-guard.ts';
import { RabbitConsumer } from './consumer.ts';
import { listDeadLetters, replayDeadLetters } from './dead-letters.ts';
import { RabbitPublisher } from './publisher.ts';
import { codeOf, deadQueueName, declareTopology, type QueueType, withChannel } from './topology.ts';
import { toEnvelope } from './wire.ts';

/**
 * Where RabbitMQ is, and how it is used.
 * @example
 * const options: RabbitBusOptions = {
 *   url: process.env.BROKER_URL ?? 'amqp://localhost',
 *   connectionName: 'desk-1',
 *   queueType: 'classic',
 * };
 */
export interface RabbitBusOptions extends BusTuning {
  /** `amqp://user:password@host:port/vhost`, or `amqps:`. */
  readonly url: string;
  /** The topic exchange. @default 'legate' */
  readonly exchange?: string;
  /** The kind of the queues that last; quorum queues outlive machines. @default 'quorum' */
  readonly queueType?: QueueType;
  /** How the connection is called in the broker's listings. @default 'legate' */
  readonly connectionName?: string;
  /** How long to try to connect at first, in milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /** How long to try to publish, in milliseconds. @default 30_000 */
  readonly publishTimeoutMs?: number;
  readonly logger?: Logger;
  readonly scheduler?: Scheduler;
}

/** A bus over RabbitMQ. Connections are made again when they break; nothing confirmed is lost. */
export class RabbitBus implements Bus {
  readonly type = 'rabbitmq';
  readonly #connection: Connection;
  readonly #publisher: RabbitPublisher;
  readonly #exchange: string;
  readonly #queueType: QueueType;
  readonly #maxBodyBytes: number;
  readonly #logger: Logger;
  readonly #scheduler: Scheduler;
  readonly #consumers = new Set<RabbitConsumer>();
  #closed: Promise<void> | undefined;

  private constructor(connection: Connection, options: RabbitBusOptions) {
    this.#connection = connection;
    this.#exchange = options.exchange ?? 'legate';
    this.#queueType = options.queueType ?? 'quorum';
    this.#maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes;
    this.#logger = options.logger ?? silentLogger;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#publisher = new RabbitPublisher({
      connection,
      exchange: this.#exchange,
      scheduler: this.#scheduler,
      logger: this.#logger,
      timeoutMs: options.publishTimeoutMs ?? 30_000,
    });
  }

  /** Connects; rejects with `UNAVAILABLE` when the broker cannot be reached. */
  static async open(options: RabbitBusOptions): Promise<RabbitBus> {
    const { logger = silentLogger, connectTimeoutMs = 10_000 } = options;
    const url = URL.parse(options.url);
    if (url === null || !['amqp:', 'amqps:'].includes(url.protocol)) {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        'the address of the broker must be amqp://user:password@host:port/vhost, or amqps:',
      );
    }
    checkQueueName(options.exchange ?? 'legate');
    const { maxBodyBytes = defaultMaxBodyBytes } = options;
    const connection = new Connection({
      url: options.url,
      // The library's type asks for a port, which it takes from the URL.
      socket: guardedReads({ maxBodyBytes }) as TcpNetConnectOpts,
      connectionName: options.connectionName ?? 'legate',
      retryLow: 100,
      retryHigh: 5_000,
      acquireTimeout: 10_000,
    });
    connection.on('error', (error: unknown) => {
      logger.warn({ host: url.host, error }, 'bus.connection.lost');
    });
    connection.on('connection', () => logger.info({ host: url.host }, 'bus.connection.open'));
    connection.on('connection.blocked', (reason) => {
      logger.warn({ host: url.host, reason }, 'bus.connection.blocked');
    });
    try {
      await connection.onConnect(connectTimeoutMs);
    } catch (cause) {
      throw new LegateError(
        'UNAVAILABLE',
        `the message broker at ${url.host} cannot be reached: check its address, user and password`,
        { cause },
      );
    }
    return new RabbitBus(connection, options);
  }

  publish(topic: string, message: OutgoingMessage, options: PublishOptions = {}): Promise<void> {
    const { mandatory = false, confirm = true, signal } = options;
    try {
      checkOutgoing(topic, message, this.#maxBodyBytes);
    } catch (error) {
      return Promise.reject(error);
    }
    const id = message.id ?? this.#scheduler.uuid();
    const now = this.#scheduler.now();
    const envelope = toEnvelope(message, { id, exchange: this.#exchange, topic, mandatory, now });
    return this.#publisher.send(envelope, message.body, { confirm, signal });
  }

  async declare(queue: Queue): Promise<void> {
    this.#requireOpen();
    checkQueue(queue);
    const options = { queueType: this.#queueType, logger: this.#logger };
    await declareTopology(this.#connection, this.#exchange, withDefaults(queue), options);
  }

  async consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions = {},
  ): Promise<Consumption> {
    this.#requireOpen();
    checkQueue(queue);
    const consumer = new RabbitConsumer({
      connection: this.#connection,
      publisher: this.#publisher,
      exchange: this.#exchange,
      queueType: this.#queueType,
      settings: withDefaults(queue),
      handler,
      consume: options,
      scheduler: this.#scheduler,
      logger: this.#logger,
      onClosed: (closed) => this.#consumers.delete(closed),
    });
    await consumer.start();
    this.#consumers.add(consumer);
    return consumer;
  }

  async inspect(queueName: string): Promise<QueueState | undefined> {
    checkQueueName(queueName);
    const look = async (queue: string) => {
      const { messageCount: messages, consumerCount: consumers } = await withChannel(
        this.#connection,
        (channel) => channel.queueDeclare({ queue, passive: true }),
      );
      return { messages, consumers };
    };
    try {
      const dead = await look(deadQueueName(queueName)).catch((error: unknown) => {
        if (codeOf(error) === 'NOT_FOUND') return { messages: 0 };
        throw error;
      });
      return { ...(await look(queueName)), deadLetters: dead.messages };
    } catch (error) {
      if (codeOf(error) === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  async deadLetters(
    queueName: string,
    { limit = 100 }: { readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    checkQueueName(queueName);
    return listDeadLetters(this.#connection, queueName, limit);
  }

  async replay(
    queueName: string,
    { ids }: { readonly ids?: readonly string[] } = {},
  ): Promise<number> {
    checkQueueName(queueName);
    return replayDeadLetters(this.#connection, this.#publisher, queueName, {
      ids,
      logger: this.#logger,
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
    await this.#publisher.close();
    await this.#connection.close();
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw busClosed();
  }
}
