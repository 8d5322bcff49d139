import type { Connection, SyncMessage } from 'rabbitmq-client';
import { errorMessage, LegateError } from '../../../protocol/index.ts';
import { type Scheduler, systemScheduler } from '../../../tasks/index.ts';
import { type Logger, silentLogger } from '../../../telemetry/index.ts';
import { backoff, retry, sleep } from '../../../time/index.ts';
import type { Broker, BrokerMessage } from '../broker-bus.ts';
import {
  type AckDecision,
  type BusTuning,
  type ConsumeOptions,
  type DeadLetter,
  type DeclaredObject,
  type DeclareOptions,
  defaultRetryDelaysMs,
  type Delivery,
  type PublishOptions,
  type QueueSettings,
  type QueueState,
} from '../bus.ts';
import { checkQueueName } from '../checks.ts';
import { bury } from './bury.ts';
import { asUnavailable } from './connect-error.ts';
import {
  connect,
  connectPauses,
  defaultConnectTimeoutMs,
  type OpenConnection,
  type RabbitConnectionOptions,
} from './connection.ts';
import { RabbitConsumer } from './consumer.ts';
import { Migration } from './migration.ts';
import { RabbitPublisher } from './publisher.ts';
import { deadQueueName, type QueueType, retryQueueName } from './queue-plan.ts';
import { codeOf, Topology, withChannel } from './topology.ts';
import { fromWire, toEnvelope, toEnvelopeAgain } from './wire.ts';

/** The address of RabbitMQ, and how it is used. */
export interface RabbitBusOptions extends BusTuning, RabbitConnectionOptions {
  /** The topic exchange. @default the name of the dialect */
  readonly exchange?: string;
  /** The type of durable queues; quorum queues are replicated. @default 'quorum' */
  readonly queueType?: QueueType;
  /**
   * Declares missing exchanges, and missing queues of agents. Otherwise they have to exist, and this client
   * needs permission to configure the queues of its own process and callers only. @default true
   */
  readonly declares?: boolean;
  /** The management API, for `legate bus status`. @default port 15672 of the broker's host */
  readonly managementUrl?: string;
  /** How long publishing is retried, in milliseconds, not counting alarms. @default 30_000 */
  readonly publishTimeoutMs?: number;
  readonly logger?: Logger;
  readonly scheduler?: Scheduler;
}

/** Limits a replay, so that it doesn't process its own dead letters forever. */
const maxReplayed = 100_000;
const unnamed = { newId: () => 'unknown' };

/**
 * RabbitMQ. Broken connections are reopened; no confirmed message is lost. An alarm of the broker blocks
 * connections that publish, so consumers have a separate one.
 */
export class RabbitBroker implements Broker {
  readonly type = 'rabbitmq';
  readonly #connection: Connection;
  readonly #open: { readonly consuming: OpenConnection; readonly publishing: OpenConnection };
  readonly #publisher: RabbitPublisher;
  readonly #topology: Topology;
  readonly #options: RabbitBusOptions;
  #isOutageLogged = false;
  readonly #exchange: string;
  readonly #retryDelaysMs: readonly number[] | undefined;
  readonly #logger: Logger;
  readonly #scheduler: Scheduler;

  private constructor(
    open: { readonly consuming: OpenConnection; readonly publishing: OpenConnection },
    options: RabbitBusOptions,
  ) {
    this.#open = open;
    this.#options = options;
    this.#connection = open.consuming.connection;
    this.#exchange = exchangeOf(options);
    this.#retryDelaysMs = options.queues?.retryDelaysMs;
    this.#logger = options.logger ?? silentLogger;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#topology = new Topology({
      connection: this.#connection,
      exchange: this.#exchange,
      queueType: options.queueType ?? 'quorum',
      dialect: options.dialect,
      declares: options.declares ?? true,
      logger: this.#logger,
    });
    this.#connection.on('connection', () => (this.#isOutageLogged = false));
    this.#publisher = new RabbitPublisher({
      connection: open.publishing.connection,
      scheduler: this.#scheduler,
      logger: this.#logger,
      timeoutMs: options.publishTimeoutMs ?? 30_000,
    });
  }

  /** Connects; rejects with `UNAVAILABLE` when the broker cannot be reached. */
  static async open(options: RabbitBusOptions): Promise<RabbitBroker> {
    checkQueueName(exchangeOf(options));
    const { logger = silentLogger, scheduler = systemScheduler } = options;
    const common = { ...options, logger, scheduler };
    const consuming = await connect({ ...common, purpose: 'consume' });
    let publishing: OpenConnection | undefined;
    try {
      publishing = await connect({ ...common, purpose: 'publish' });
      const broker = new RabbitBroker({ consuming, publishing }, options);
      // Publishing to a missing exchange would close the channel.
      await broker.#whileReconnecting(() => broker.#topology.ensureExchange());
      return broker;
    } catch (error) {
      for (const opened of [publishing, consuming]) opened?.connection.unsafeDestroy();
      throw error;
    }
  }

  get version(): string | undefined {
    return this.#open.consuming.server()?.version;
  }

  get isConnected(): boolean {
    return this.#connection.ready && this.#open.publishing.connection.ready;
  }

  get isBlocked(): boolean {
    return this.#publisher.isBlocked;
  }

  publish(topic: string, message: BrokerMessage, options: PublishOptions): Promise<void> {
    const { mandatory = false, confirm = true, signal } = options;
    const id = message.id ?? this.#scheduler.uuid();
    const now = this.#scheduler.now();
    const envelope = toEnvelope(message, { id, exchange: this.#exchange, topic, mandatory, now });
    return this.#publisher.send(envelope, message.body, { confirm, signal });
  }

  async declare(
    settings: QueueSettings,
    { migrates = false }: DeclareOptions,
  ): Promise<readonly DeclaredObject[]> {
    const states = await this.#whileReconnecting(() => this.#topology.declare(settings));
    if (!migrates || states.every(({ state }) => state !== 'differs')) return states;
    const migration = new Migration({
      connection: this.#connection,
      publisher: this.#publisher,
      topology: this.#topology,
      logger: this.#logger,
    });
    return migration.migrate(settings, states);
  }

  async consume(
    settings: QueueSettings,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions,
  ): Promise<() => Promise<void>> {
    const consumer = new RabbitConsumer({
      connection: this.#connection,
      publisher: this.#publisher,
      topology: this.#topology,
      settings,
      handler,
      consume: options,
      scheduler: this.#scheduler,
      logger: this.#logger,
      onReopenFailed: (failed) => this.#reopenFailed(failed),
    });
    await this.#whileReconnecting(() => consumer.open());
    return () => consumer.close();
  }

  /** Logs once for each outage: all consumers fail together and repeatedly. */
  #reopenFailed({ queue, error }: { readonly queue: string; readonly error: unknown }): void {
    if (this.#isOutageLogged) return;
    this.#isOutageLogged = true;
    this.#logger.warn({ queue, reason: errorMessage(error) }, 'bus.consumer.reopen_failed');
  }

  /**
   * Retries while the library reopens a connection: it can be lost between its handshake and the first
   * frames of a channel.
   */
  async #whileReconnecting<T>(work: () => Promise<T>): Promise<T> {
    const { connectTimeoutMs = defaultConnectTimeoutMs, onWait } = this.#options;
    const scheduler = this.#scheduler;
    const deadline = scheduler.now() + connectTimeoutMs;
    const attempt = (): Promise<T> =>
      work().catch((error: unknown) => {
        throw asUnavailable(error);
      });
    return retry(attempt, {
      delays: (failures) => backoff(failures, connectPauses),
      isRetryable: (error) => isUnavailable(error) && scheduler.now() < deadline,
      onRetry: ({ error }) => {
        if (error instanceof LegateError) onWait?.(error);
      },
    });
  }

  inspect(queueName: string): Promise<QueueState | undefined> {
    return whereQueueExists(undefined, async () => {
      const dead = await whereQueueExists(undefined, () =>
        this.#count(this.deadQueueName(queueName)),
      );
      const { messageCount: messages, consumerCount: consumers } = await this.#count(queueName);
      return { messages, consumers, deadLetters: dead?.messageCount ?? 0 };
    });
  }

  /** Gets letters without acknowledging them; closing the channel requeues them. */
  deadLetters(queueName: string, limit: number): Promise<readonly DeadLetter[]> {
    const queue = this.deadQueueName(queueName);
    return whereQueueExists([], async () => {
      const letters = await withChannel(this.#connection, async (channel) => {
        const got: DeadLetter[] = [];
        while (got.length < limit) {
          const received = await channel.basicGet({ queue });
          if (received === undefined) break;
          got.push(toDeadLetter(received));
        }
        return got;
      });
      await this.#untilReturned(queue, letters.length);
      // A quorum queue returns letters that were read before in any order.
      return letters.toSorted((a, b) => a.diedAt - b.diedAt);
    });
  }

  /** Waits until a quorum queue has its messages back: a replay would miss them. */
  async #untilReturned(queue: string, count: number): Promise<void> {
    for (let look = 0; look < 50; look += 1) {
      if ((await this.#count(queue)).messageCount >= count) return;
      await sleep(20, undefined, this.#scheduler);
    }
  }

  bury(...[settings, message, { reason, attempts }]: Parameters<Broker['bury']>): Promise<void> {
    this.#logger.warn({ queue: settings.name, messageId: message.id, reason }, 'bus.dead_letter');
    return bury(
      { settings, message, marks: { reason, attempt: attempts } },
      { publisher: this.#publisher, layout: this.#topology.layout, scheduler: this.#scheduler },
    );
  }

  /** Acknowledges each letter only after the broker has confirmed its new copy. */
  replay(queueName: string, ids: readonly string[] | undefined): Promise<number> {
    const queue = this.deadQueueName(queueName);
    const exchange = this.#exchange;
    return whereQueueExists(0, async () => {
      await this.#topology.bindByName(queueName);
      return withChannel(this.#connection, async (channel) => {
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
          const envelope = { ...toEnvelopeAgain(message, {}), exchange, routingKey: queueName };
          await this.#publisher.send({ ...envelope, mandatory: true }, message.body, {
            confirm: true,
          });
          channel.basicAck({ deliveryTag: received.deliveryTag });
          replayed += 1;
        }
        return replayed;
      });
    });
  }

  purge(queue: string): Promise<number> {
    return whereQueueExists(0, () =>
      withChannel(this.#connection, async (channel) => {
        const { messageCount } = await channel.queuePurge({ queue });
        return messageCount;
      }),
    );
  }

  /** Gets the first message without acknowledging it. */
  oldest(queue: string): Promise<number | undefined> {
    return whereQueueExists(undefined, () =>
      withChannel(this.#connection, async (channel) => {
        const received = await channel.basicGet({ queue });
        const { timestamp } = received ?? {};
        return timestamp === undefined ? undefined : timestamp * 1000;
      }),
    );
  }

  async delete(queueName: string): Promise<void> {
    const { layout } = this.#topology;
    const delays = new Set([...defaultRetryDelaysMs, ...(this.#retryDelaysMs ?? [])]);
    const retries = [...delays].map((delay) => retryQueueName(queueName, delay));
    for (const queue of [queueName, deadQueueName(queueName, layout), ...retries]) {
      await withChannel(this.#connection, (channel) => channel.queueDelete({ queue }));
    }
  }

  async close(): Promise<void> {
    await this.#publisher.close();
    await this.#open.publishing.connection.close();
    await this.#connection.close();
  }

  queueName(queueName: string): string {
    return queueName;
  }

  deadQueueName(queueName: string): string {
    return deadQueueName(queueName, this.#topology.layout);
  }

  #count(queue: string) {
    return withChannel(this.#connection, (channel) =>
      channel.queueDeclare({ queue, passive: true }),
    );
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof LegateError && error.code === 'UNAVAILABLE';
}

function exchangeOf({ exchange, dialect = 'legate' }: RabbitBusOptions): string {
  return exchange ?? dialect;
}

function toDeadLetter(received: SyncMessage): DeadLetter {
  const { message, attempt, death, refusal } = fromWire(received, unnamed);
  return {
    id: message.id,
    message,
    // If the broker moved the message itself, it records only that the message was rejected.
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
