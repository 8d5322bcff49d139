import { type Scheduler, systemScheduler } from '../../../tasks/index.ts';
import { type Logger, silentLogger } from '../../../telemetry/index.ts';
import {
  type Bus,
  type BusTuning,
  type BusMessage,
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
import { busClosed, checkOutgoing, checkQueue, queueFull, unroutable } from '../refusals.ts';
import { MemoryQueue } from './memory-queue.ts';

/**
 * Bounds of a bus in this process.
 * @example
 * const options: MemoryBusOptions = { maxBodyBytes: 64 * 1024, logger: pino({ level: 'debug' }) };
 */
export interface MemoryBusOptions extends BusTuning {
  readonly logger?: Logger;
  readonly scheduler?: Scheduler;
}

/**
 * A bus within this process, for tests and for agents that share one machine and one program. It
 * keeps the contract of a broker; what it holds is gone with the process.
 */
export class MemoryBus implements Bus {
  readonly type = 'memory';
  readonly #queues = new Map<string, MemoryQueue>();
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  readonly #maxBodyBytes: number;
  /** While closing, what is being handled may still publish. */
  #isClosing = false;
  #isClosed = false;

  constructor(options: MemoryBusOptions = {}) {
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#logger = options.logger ?? silentLogger;
    this.#maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes;
  }

  async publish(
    topic: string,
    outgoing: OutgoingMessage,
    options: PublishOptions = {},
  ): Promise<void> {
    if (this.#isClosed) throw busClosed();
    checkOutgoing(topic, outgoing, this.#maxBodyBytes);
    options.signal?.throwIfAborted();
    const bound = [...this.#queues.values()].filter(({ settings }) =>
      settings.topics.includes(topic),
    );
    if (bound.length === 0 && options.mandatory === true) throw unroutable(topic);
    const isFull = bound.some((queue) => queue.isFull);
    if (isFull && options.confirm !== false) throw queueFull(topic);
    if (isFull) return;
    const message: BusMessage = {
      id: outgoing.id ?? this.#scheduler.uuid(),
      type: outgoing.type,
      body: outgoing.body,
      topic,
      correlationId: outgoing.correlationId,
      replyTo: outgoing.replyTo,
      headers: { ...outgoing.headers },
    };
    for (const queue of bound) queue.push(message);
  }

  async declare(queue: Queue): Promise<void> {
    this.#requireOpen();
    this.#declared(queue);
  }

  async consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions = {},
  ): Promise<Consumption> {
    this.#requireOpen();
    return this.#declared(queue).consume(handler, options);
  }

  async inspect(queueName: string): Promise<QueueState | undefined> {
    const queue = this.#queues.get(queueName);
    if (queue === undefined) return undefined;
    const { messages, consumers, dead: deadLetters } = queue;
    return { messages, consumers, deadLetters };
  }

  async deadLetters(
    queueName: string,
    { limit = 100 }: { readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    return this.#queues.get(queueName)?.deadLetters(limit) ?? [];
  }

  async replay(
    queueName: string,
    { ids }: { readonly ids?: readonly string[] } = {},
  ): Promise<number> {
    return this.#queues.get(queueName)?.replay(ids) ?? 0;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#queues.values()].map((queue) => queue.closeConsumers()));
    this.#isClosed = true;
    for (const queue of this.#queues.values()) queue.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #declared(queue: Queue): MemoryQueue {
    checkQueue(queue);
    const existing = this.#queues.get(queue.name);
    if (existing !== undefined) return existing;
    const made = new MemoryQueue({
      settings: withDefaults(queue),
      scheduler: this.#scheduler,
      logger: this.#logger,
      onIdle: () => {
        made.close();
        this.#queues.delete(queue.name);
      },
    });
    this.#queues.set(queue.name, made);
    return made;
  }

  #requireOpen(): void {
    if (this.#isClosing) throw busClosed();
  }
}
