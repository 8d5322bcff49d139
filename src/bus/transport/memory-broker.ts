import { type Scheduler, systemScheduler, type Timer } from '../../tasks/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import type { Broker, BrokerMessage } from './broker-bus.ts';
import type {
  AckDecision,
  BusMessage,
  BusTuning,
  ConsumeOptions,
  DeadLetter,
  DeclaredObject,
  Delivery,
  PublishOptions,
  QueueSettings,
  QueueState,
} from './bus.ts';
import { queueFull, unroutable } from './checks.ts';
import { ConsumerPool } from './consumer-pool.ts';
import { Slots } from './slots.ts';

export interface MemoryBusOptions extends BusTuning {
  readonly logger?: Logger;
  readonly scheduler?: Scheduler;
}

/**
 * A broker within this process, for tests and for agents that share one process. It implements the
 * contract of a broker; its messages are lost with the process.
 */
export class MemoryBroker implements Broker {
  readonly type = 'memory';
  readonly version = undefined;
  readonly isConnected = true;
  readonly isBlocked = false;
  readonly #queues = new Map<string, MemoryQueue>();
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;

  constructor(options: MemoryBusOptions = {}) {
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#logger = options.logger ?? silentLogger;
  }

  async publish(topic: string, outgoing: BrokerMessage, options: PublishOptions): Promise<void> {
    options.signal?.throwIfAborted();
    const bound = [...this.#queues.values()].filter(({ settings }) =>
      settings.topics.includes(topic),
    );
    if (bound.length === 0 && options.mandatory === true) throw unroutable(topic);
    const isFull = bound.some((queue) => queue.isFull);
    if (isFull && options.confirm !== false) throw queueFull(topic);
    if (isFull) return;
    const { id = this.#scheduler.uuid(), type, body, correlationId, replyTo } = outgoing;
    const headers = { ...outgoing.headers };
    const message: BusMessage = { id, type, body, topic, correlationId, replyTo, headers };
    for (const queue of bound) queue.push(message);
  }

  async declare(settings: QueueSettings): Promise<readonly DeclaredObject[]> {
    const state = this.#queues.has(settings.name) ? 'present' : 'made';
    this.#declared(settings);
    return [{ name: settings.name, kind: 'queue', state }];
  }

  async consume(
    settings: QueueSettings,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions,
  ): Promise<() => Promise<void>> {
    return this.#declared(settings).consume(handler, options);
  }

  async inspect(queueName: string): Promise<QueueState | undefined> {
    const queue = this.#queues.get(queueName);
    if (queue === undefined) return undefined;
    const { messages, consumers, dead: deadLetters } = queue;
    return { messages, consumers, deadLetters };
  }

  queueName(queueName: string): string {
    return queueName;
  }

  deadQueueName(queueName: string): string {
    return `${queueName}${deadSuffix}`;
  }

  async bury(
    ...[settings, message, { reason, attempts }]: Parameters<Broker['bury']>
  ): Promise<void> {
    this.#queues.get(settings.name)?.bury(message, reason, attempts);
  }

  async deadLetters(queueName: string, limit: number): Promise<readonly DeadLetter[]> {
    return this.#queues.get(queueName)?.deadLetters(limit) ?? [];
  }

  async replay(queueName: string, ids: readonly string[] | undefined): Promise<number> {
    return this.#queues.get(queueName)?.replay(ids) ?? 0;
  }

  async oldest(queueName: string): Promise<number | undefined> {
    return this.#queues.get(queueName)?.oldest;
  }

  async purge(queueName: string): Promise<number> {
    if (!queueName.endsWith(deadSuffix)) return this.#queues.get(queueName)?.purge() ?? 0;
    return this.#queues.get(queueName.slice(0, -deadSuffix.length))?.purgeDead() ?? 0;
  }

  async delete(queueName: string): Promise<void> {
    this.#queues.get(queueName)?.close();
    this.#queues.delete(queueName);
  }

  async close(): Promise<void> {
    for (const queue of this.#queues.values()) queue.close();
  }

  #declared(settings: QueueSettings): MemoryQueue {
    const existing = this.#queues.get(settings.name);
    if (existing !== undefined) return existing;
    const made = new MemoryQueue({
      settings,
      scheduler: this.#scheduler,
      logger: this.#logger,
      onIdle: () => {
        made.close();
        this.#queues.delete(settings.name);
      },
    });
    this.#queues.set(settings.name, made);
    return made;
  }
}

const deadSuffix = '.dead';

interface Waiting {
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
  readonly message: BusMessage;
  readonly attempt: number;
  readonly isRedelivered: boolean;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

interface Held extends Delivery {
  readonly waiting: Waiting;
  isAcknowledged: boolean;
}

interface Consumer {
  readonly pool: ConsumerPool<Held>;
  readonly prefetch: number;
  readonly slots: Slots;
  /** The number of further deliveries that it accepts. */
  left: number;
  unsettled: number;
}

/** A queue of the broker in memory. */
class MemoryQueue {
  readonly settings: QueueSettings;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  readonly #onIdle: () => void;
  #waiting: Waiting[] = [];
  #dead: (DeadLetter & { readonly size: number })[] = [];
  readonly #consumers: Consumer[] = [];
  readonly #retries = new Set<Timer>();
  #expiry: Timer | undefined;
  #isScheduled = false;

  constructor(options: {
    settings: QueueSettings;
    scheduler: Scheduler;
    logger: Logger;
    /** The queue had no consumer for `expiresAfterMs`. */
    onIdle: () => void;
  }) {
    this.settings = options.settings;
    this.#scheduler = options.scheduler;
    this.#logger = options.logger;
    this.#onIdle = options.onIdle;
    this.#watchUse();
  }

  get isFull(): boolean {
    this.#dropExpired();
    return this.#waiting.length >= this.settings.maxMessages;
  }

  get messages(): number {
    this.#dropExpired();
    return this.#waiting.length;
  }

  get consumers(): number {
    return this.#consumers.length;
  }

  push(message: BusMessage): void {
    this.#waiting.push(this.#fresh(message, 1));
    this.#dispatch();
  }

  consume(
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions,
  ): () => Promise<void> {
    const { prefetch = 10, concurrency = prefetch, limit = Number.POSITIVE_INFINITY } = options;
    const { slots = new Slots(concurrency) } = options;
    const consumer: Consumer = {
      prefetch,
      slots,
      left: limit,
      unsettled: 0,
      pool: new ConsumerPool({
        handler,
        slots,
        logger: this.#logger,
        settle: async (held, decision) => {
          consumer.unsettled -= 1;
          this.#settle(held, decision);
          this.#dispatch();
        },
      }),
    };
    this.#consumers.push(consumer);
    const stopListening = slots.onChange(() => this.#dispatch());
    this.#watchUse();
    this.#dispatch();
    return async () => {
      stopListening();
      this.#consumers.splice(this.#consumers.indexOf(consumer), 1);
      this.#requeue(consumer.pool.withdraw());
      this.#watchUse();
      this.#dispatch();
      await consumer.pool.close();
    };
  }

  get dead(): number {
    this.#dropOldDead();
    return this.#dead.length;
  }

  deadLetters(limit: number): readonly DeadLetter[] {
    this.#dropOldDead();
    return this.#dead.slice(0, limit).map(({ size: _size, ...letter }) => letter);
  }

  replay(ids: readonly string[] | undefined): number {
    this.#dropOldDead();
    const replayed = this.#dead.filter(({ id }) => ids === undefined || ids.includes(id));
    this.#dead = this.#dead.filter((letter) => !replayed.includes(letter));
    for (const { message } of replayed) this.push(message);
    return replayed.length;
  }

  get oldest(): number | undefined {
    this.#dropExpired();
    return this.#waiting[0]?.publishedAt;
  }

  purgeDead(): number {
    return this.#dead.splice(0).length;
  }

  purge(): number {
    const count = this.messages;
    this.#waiting = [];
    return count;
  }

  /** Cancels the timers; waiting messages are lost with the queue. */
  close(): void {
    this.#expiry?.cancel();
    for (const timer of this.#retries) timer.cancel();
    this.#retries.clear();
  }

  #requeue(held: readonly Held[]): void {
    this.#waiting.unshift(...held.map(({ waiting }) => ({ ...waiting, isRedelivered: true })));
  }

  #fresh(message: BusMessage, attempt: number): Waiting {
    const { messageTtlMs = Number.POSITIVE_INFINITY } = this.settings;
    return {
      message,
      attempt,
      isRedelivered: false,
      publishedAt: this.#scheduler.now(),
      expiresAt: this.#scheduler.now() + messageTtlMs,
    };
  }

  /** Delivers in a microtask, so that a publisher never runs a consumer. */
  #dispatch(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#dropExpired();
      this.#deliver();
    });
  }

  #deliver(): void {
    while (this.#waiting.length > 0) {
      const index = this.#consumers.findIndex(
        ({ prefetch, left, unsettled, slots }) => unsettled + slots.reserved < prefetch && left > 0,
      );
      const consumer = this.#consumers[index];
      const waiting = consumer === undefined ? undefined : this.#waiting.shift();
      if (consumer === undefined || waiting === undefined) return;
      // Round robin: the consumer that got a message goes to the end.
      this.#consumers.push(...this.#consumers.splice(index, 1));
      consumer.unsettled += 1;
      consumer.left -= 1;
      const held: Held = {
        ...waiting.message,
        attempt: waiting.attempt,
        isLastAttempt: waiting.attempt > this.settings.retryDelaysMs.length,
        isRedelivered: waiting.isRedelivered,
        waiting,
        isAcknowledged: false,
        async acknowledge() {
          held.isAcknowledged = true;
        },
      };
      consumer.pool.offer(held);
    }
  }

  #settle(held: Held, decision: AckDecision): void {
    const { message, attempt } = held.waiting;
    if (decision.kind === 'done' || held.isAcknowledged) return;
    if (decision.kind === 'release') {
      this.#requeue([held]);
      return;
    }
    const delay = this.settings.retryDelaysMs[attempt - 1];
    if (decision.kind === 'dead' || delay === undefined) {
      this.bury(message, decision.reason, attempt);
      return;
    }
    const timer = this.#scheduler.after(delay, () => {
      this.#retries.delete(timer);
      this.#waiting.push(this.#fresh(message, attempt + 1));
      this.#dispatch();
    });
    this.#retries.add(timer);
  }

  bury(message: BusMessage, reason: string, attempts: number): void {
    const { name, deadLetters: limits } = this.settings;
    this.#logger.warn({ queue: name, messageId: message.id, reason }, 'bus.dead_letter');
    if (limits === undefined) return;
    const size = Buffer.byteLength(message.body);
    const diedAt = this.#scheduler.now();
    this.#dead.push({ id: message.id, message, reason, diedAt, attempts, size });
    this.#dropOldDead();
  }

  /** Messages wait in the order in which they expire, except requeued ones. */
  #dropExpired(): void {
    const now = this.#scheduler.now();
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.expiresAt > now) return;
      this.#waiting.shift();
      this.bury(first.message, 'expired', first.attempt - 1);
    }
  }

  #dropOldDead(): void {
    const limits = this.settings.deadLetters;
    if (limits === undefined) return;
    const oldest = this.#scheduler.now() - limits.ttlMs;
    let bytes = this.#dead.reduce((total, { size }) => total + size, 0);
    while (this.#dead.length > 0) {
      const first = this.#dead[0];
      if (first === undefined) return;
      const fits = this.#dead.length <= limits.maxMessages && bytes <= limits.maxBytes;
      if (fits && first.diedAt > oldest) return;
      this.#dead.shift();
      bytes -= first.size;
    }
  }

  #watchUse(): void {
    this.#expiry?.cancel();
    this.#expiry = undefined;
    const { expiresAfterMs } = this.settings;
    if (expiresAfterMs === undefined || this.#consumers.length > 0) return;
    this.#expiry = this.#scheduler.after(expiresAfterMs, this.#onIdle);
  }
}
