import type { Scheduler, Timer } from '../../../tasks/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import {
  type BusMessage,
  type ConsumeOptions,
  type Consumption,
  type DeadLetter,
  type Delivery,
  type QueueSettings,
  type AckDecision,
} from '../bus.ts';
import { ConsumerPool } from '../consumer-pool.ts';

interface Waiting {
  readonly message: BusMessage;
  readonly attempt: number;
  readonly isRedelivered: boolean;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

interface Held extends Delivery {
  readonly waiting: Waiting;
}

interface Consumer {
  readonly pool: ConsumerPool<Held>;
  readonly prefetch: number;
  /** How many more it may take. */
  left: number;
  inHand: number;
}

/** A queue of the bus in this process: what a broker's queue does, without a broker. */
export class MemoryQueue {
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
    /** Nobody consumed the queue for `expiresAfterMs`. */
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
  ): Consumption {
    const { prefetch = 10, concurrency = prefetch, limit = Number.POSITIVE_INFINITY } = options;
    const consumer: Consumer = {
      prefetch,
      left: limit,
      inHand: 0,
      pool: new ConsumerPool({
        handler,
        concurrency,
        logger: this.#logger,
        settle: async (held, decision) => {
          consumer.inHand -= 1;
          this.#settle(held, decision);
          this.#dispatch();
        },
      }),
    };
    this.#consumers.push(consumer);
    this.#watchUse();
    this.#dispatch();
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => (closed ??= this.#closeConsumer(consumer));
    return { close, [Symbol.asyncDispose]: close };
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
    const meant = this.#dead.filter(({ id }) => ids === undefined || ids.includes(id));
    this.#dead = this.#dead.filter((letter) => !meant.includes(letter));
    for (const { message } of meant) this.push(message);
    return meant.length;
  }

  /** Ends timers; what waits is gone with the queue. */
  close(): void {
    this.#expiry?.cancel();
    for (const timer of this.#retries) timer.cancel();
    this.#retries.clear();
  }

  async closeConsumers(): Promise<void> {
    await Promise.all(this.#consumers.slice().map((consumer) => this.#closeConsumer(consumer)));
  }

  async #closeConsumer(consumer: Consumer): Promise<void> {
    const index = this.#consumers.indexOf(consumer);
    if (index >= 0) this.#consumers.splice(index, 1);
    this.#giveBack(consumer.pool.withdraw());
    this.#watchUse();
    this.#dispatch();
    await consumer.pool.close();
  }

  #giveBack(held: readonly Held[]): void {
    this.#waiting.unshift(...held.map(({ waiting }) => ({ ...waiting, isRedelivered: true })));
  }

  #fresh(message: BusMessage, attempt: number): Waiting {
    const { messageTtlMs = Number.POSITIVE_INFINITY } = this.settings;
    return {
      message,
      attempt,
      isRedelivered: false,
      expiresAt: this.#scheduler.now() + messageTtlMs,
    };
  }

  /** Hands out in a later step, so that a publisher never runs its readers. */
  #dispatch(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#dropExpired();
      this.#handOut();
    });
  }

  #handOut(): void {
    while (this.#waiting.length > 0) {
      const index = this.#consumers.findIndex(
        ({ prefetch, left, inHand }) => inHand < prefetch && left > 0,
      );
      const consumer = this.#consumers[index];
      const waiting = consumer === undefined ? undefined : this.#waiting.shift();
      if (consumer === undefined || waiting === undefined) return;
      // Round about: the one who got a message goes to the end.
      this.#consumers.push(...this.#consumers.splice(index, 1));
      consumer.inHand += 1;
      consumer.left -= 1;
      consumer.pool.offer({
        ...waiting.message,
        attempt: waiting.attempt,
        isLastAttempt: waiting.attempt > this.settings.retryDelaysMs.length,
        isRedelivered: waiting.isRedelivered,
        waiting,
      });
    }
  }

  #settle(held: Held, decision: AckDecision): void {
    const { message, attempt } = held.waiting;
    if (decision.kind === 'done') return;
    if (decision.kind === 'release') {
      this.#giveBack([held]);
      return;
    }
    const delay = this.settings.retryDelaysMs[attempt - 1];
    if (decision.kind === 'dead' || delay === undefined) {
      this.#bury(message, decision.reason, attempt);
      return;
    }
    const timer = this.#scheduler.after(delay, () => {
      this.#retries.delete(timer);
      this.#waiting.push(this.#fresh(message, attempt + 1));
      this.#dispatch();
    });
    this.#retries.add(timer);
  }

  #bury(message: BusMessage, reason: string, attempts: number): void {
    const { name, deadLetters: limits } = this.settings;
    this.#logger.warn({ queue: name, messageId: message.id, reason }, 'bus.dead_letter');
    if (limits === undefined) return;
    const size = Buffer.byteLength(message.body);
    const diedAt = this.#scheduler.now();
    this.#dead.push({ id: message.id, message, reason, diedAt, attempts, size });
    this.#dropOldDead();
  }

  /** Messages wait in the order in which they expire, but for those that were given back. */
  #dropExpired(): void {
    const now = this.#scheduler.now();
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.expiresAt > now) return;
      this.#waiting.shift();
      this.#bury(first.message, 'expired', first.attempt - 1);
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
