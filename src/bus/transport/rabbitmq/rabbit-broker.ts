import type { TcpNetConnectOpts } from 'node:net';
import { Connection, type SyncMessage } from 'rabbitmq-client';
import { LegateError } from '../../../protocol/index.ts';
import { type Scheduler, systemScheduler } from '../../../tasks/index.ts';
import { type Logger, silentLogger } from '../../../telemetry/index.ts';
import type { Broker } from '../broker-bus.ts';
import {
  type AckDecision,
  type BusTuning,
  type ConsumeOptions,
  type DeadLetter,
  defaultMaxBodyBytes,
  type Delivery,
  type OutgoingMessage,
  type PublishOptions,
  type QueueSettings,
  type QueueState,
} from '../bus.ts';
import { checkQueueName } from '../checks.ts';
import { RabbitConsumer } from './consumer.ts';
import { guardedReads } from './content-guard.ts';
import { RabbitPublisher } from './publisher.ts';
import { codeOf, deadQueueName, declareTopology, type QueueType, withChannel } from './topology.ts';
import { fromWire, toEnvelope, toEnvelopeAgain } from './wire.ts';

/** The address of RabbitMQ, and how it is used. */
export interface RabbitBusOptions extends BusTuning {
  /** `amqp://user:password@host:port/vhost`, or `amqps:`. */
  readonly url: string;
  /** The topic exchange. @default 'legate' */
  readonly exchange?: string;
  /** The type of durable queues; quorum queues are replicated. @default 'quorum' */
  readonly queueType?: QueueType;
  /** The name of the connection in the broker's listings. @default 'legate' */
  readonly connectionName?: string;
  /** How long the first connection may take, in milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /** How long publishing is retried, in milliseconds. @default 30_000 */
  readonly publishTimeoutMs?: number;
  readonly logger?: Logger;
  readonly scheduler?: Scheduler;
}

/** Limits a replay, so that it doesn't process its own dead letters forever. */
const maxReplayed = 100_000;
const unnamed = { newId: () => 'unknown' };

/** RabbitMQ. Broken connections are reopened; no confirmed message is lost. */
export class RabbitBroker implements Broker {
  readonly type = 'rabbitmq';
  readonly #connection: Connection;
  readonly #publisher: RabbitPublisher;
  readonly #exchange: string;
  readonly #queueType: QueueType;
  readonly #logger: Logger;
  readonly #scheduler: Scheduler;

  private constructor(connection: Connection, options: RabbitBusOptions) {
    this.#connection = connection;
    this.#exchange = options.exchange ?? 'legate';
    this.#queueType = options.queueType ?? 'quorum';
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
  static async open(options: RabbitBusOptions): Promise<RabbitBroker> {
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
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library's type requires a port, which it takes from the URL
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
    return new RabbitBroker(connection, options);
  }

  publish(topic: string, message: OutgoingMessage, options: PublishOptions): Promise<void> {
    const { mandatory = false, confirm = true, signal } = options;
    const id = message.id ?? this.#scheduler.uuid();
    const now = this.#scheduler.now();
    const envelope = toEnvelope(message, { id, exchange: this.#exchange, topic, mandatory, now });
    return this.#publisher.send(envelope, message.body, { confirm, signal });
  }

  declare(settings: QueueSettings): Promise<void> {
    const options = { queueType: this.#queueType, logger: this.#logger };
    return declareTopology(this.#connection, this.#exchange, settings, options);
  }

  async consume(
    settings: QueueSettings,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions,
  ): Promise<() => Promise<void>> {
    const consumer = new RabbitConsumer({
      connection: this.#connection,
      publisher: this.#publisher,
      exchange: this.#exchange,
      queueType: this.#queueType,
      settings,
      handler,
      consume: options,
      scheduler: this.#scheduler,
      logger: this.#logger,
    });
    await consumer.open();
    return () => consumer.close();
  }

  inspect(queueName: string): Promise<QueueState | undefined> {
    return whereQueueExists(undefined, async () => {
      const dead = await whereQueueExists(undefined, () => this.#count(deadQueueName(queueName)));
      const { messageCount: messages, consumerCount: consumers } = await this.#count(queueName);
      return { messages, consumers, deadLetters: dead?.messageCount ?? 0 };
    });
  }

  /** Gets letters without acknowledging them; closing the channel requeues them in order. */
  deadLetters(queueName: string, limit: number): Promise<readonly DeadLetter[]> {
    return whereQueueExists([], () =>
      withChannel(this.#connection, async (channel) => {
        const letters: DeadLetter[] = [];
        while (letters.length < limit) {
          const received = await channel.basicGet({ queue: deadQueueName(queueName) });
          if (received === undefined) break;
          letters.push(toDeadLetter(received));
        }
        return letters;
      }),
    );
  }

  /** Acknowledges each letter only after the broker has confirmed its new copy. */
  replay(queueName: string, ids: readonly string[] | undefined): Promise<number> {
    const queue = deadQueueName(queueName);
    return whereQueueExists(0, () =>
      withChannel(this.#connection, async (channel) => {
        const { messageCount } = await channel.queueDeclare({ queue, passive: true });
        let replayed = 0;
        for (let seen = 0; seen < Math.min(messageCount, maxReplayed); seen += 1) {
          const received = await channel.basicGet({ queue });
          if (received === undefined) break;
          const { message, refusal } = fromWire(received, unnamed);
          if (ids !== undefined && !ids.includes(message.id)) continue;
          if (refusal !== undefined) {
            // It would be refused again at once, and only the broker has its contents.
            const found = { queue, messageId: message.id, reason: refusal };
            this.#logger.warn(found, 'bus.replay.refused');
            continue;
          }
          const envelope = { ...toEnvelopeAgain(message, {}), routingKey: queueName };
          await this.#publisher.send({ ...envelope, mandatory: true }, message.body, {
            confirm: true,
          });
          channel.basicAck({ deliveryTag: received.deliveryTag });
          replayed += 1;
        }
        return replayed;
      }),
    );
  }

  async close(): Promise<void> {
    await this.#publisher.close();
    await this.#connection.close();
  }

  #count(queue: string) {
    return withChannel(this.#connection, (channel) =>
      channel.queueDeclare({ queue, passive: true }),
    );
  }
}

function toDeadLetter(received: SyncMessage): DeadLetter {
  const { message, attempt, death, refusal } = fromWire(received, unnamed);
  return {
    id: message.id,
    message,
    // Of a message that it moved itself, the broker knows only that it was rejected.
    reason: refusal ?? death?.reason ?? 'unknown',
    diedAt: death?.diedAt ?? 0,
    attempts: attempt,
  };
}

async function whereQueueExists<T, U>(otherwise: U, work: () => Promise<T>): Promise<T | U> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === 'NOT_FOUND') return otherwise;
    throw error;
  }
}
