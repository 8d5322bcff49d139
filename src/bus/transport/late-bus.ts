import { LegateError } from '../../protocol/index.ts';
import type {
  AckDecision,
  Bus,
  BusDialect,
  BusQueueOptions,
  ConsumeOptions,
  Consumption,
  DeadLetter,
  DeclaredObject,
  DeclareOptions,
  Delivery,
  OutgoingMessage,
  PublishOptions,
  Queue,
  QueueState,
} from './bus.ts';
import { brokerUnreachable, busClosed } from './checks.ts';
import { type BusOptions, openBus } from './open-bus.ts';

/** A consumer that was requested before the bus was open. */
interface Waiting {
  readonly start: (bus: Bus) => Promise<Consumption>;
  /** Undefined until it consumes. */
  consumption: Consumption | undefined;
  isClosed: boolean;
}

/**
 * A bus whose broker may still be starting.
 *
 * - **connecting**: everything rejects with `UNAVAILABLE` at once, except `consume`: its consumers start
 *   once the bus is open. `onReopened` is then called, as after a lost connection.
 * - **open**: all calls go to the open bus.
 * - **failed**: a retry can't help, or the broker did not start in time; `opened` rejects with the reason.
 * - **closed**.
 * @example
 * await using bus = new LateBus({ type: 'rabbitmq', url: 'amqp://localhost', connectTimeoutMs: Infinity });
 * await using server = await gateway({ bus, agents: ['desk'], port: 8080 }); // 503 until the broker is up
 */
export class LateBus implements Bus {
  readonly type: Bus['type'];
  readonly queues: BusQueueOptions;
  readonly dialect: BusDialect;
  /** Resolves once all waiting consumers have started. Rejects when the bus can't be opened. */
  readonly opened: Promise<void>;
  readonly #waiting: Waiting[] = [];
  readonly #closing = new AbortController();
  #bus: Bus | undefined;
  /** All waiting consumers have started. */
  #isReady = false;

  constructor(options: BusOptions) {
    this.type = options.type;
    this.queues = options.queues ?? {};
    this.dialect = options.dialect ?? 'legate';
    this.opened = this.#open(options);
    // Callers that don't await `opened` get an error from each call.
    this.opened.catch(() => undefined);
  }

  async #open(options: BusOptions): Promise<void> {
    const { signal } = this.#closing;
    const bus = await openBus(options.type === 'memory' ? options : { ...options, signal });
    this.#bus = bus;
    try {
      signal.throwIfAborted();
      // Consumers that are requested meanwhile start on the open bus.
      for (const waiting of this.#waiting) {
        if (!waiting.isClosed) waiting.consumption = await waiting.start(bus);
      }
      this.#isReady = true;
    } catch (error) {
      await bus.close();
      throw error;
    }
  }

  get brokerVersion(): string | undefined {
    return this.#bus?.brokerVersion;
  }

  get isConnected(): boolean {
    return this.#isReady && this.#bus?.isConnected === true;
  }

  get isBlocked(): boolean {
    return this.#bus?.isBlocked === true;
  }

  async #use<T>(work: (bus: Bus) => Promise<T>): Promise<T> {
    if (this.#closing.signal.aborted) throw busClosed();
    if (this.#bus === undefined) throw brokerUnreachable();
    return work(this.#bus);
  }

  publish(topic: string, message: OutgoingMessage, options?: PublishOptions): Promise<void> {
    return this.#use((bus) => bus.publish(topic, message, options));
  }

  declare(queue: Queue, options?: DeclareOptions): Promise<readonly DeclaredObject[]> {
    return this.#use((bus) => bus.declare(queue, options));
  }

  async consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options?: ConsumeOptions,
  ): Promise<Consumption> {
    if (this.#bus !== undefined) return this.#use((bus) => bus.consume(queue, handler, options));
    const waiting: Waiting = {
      start: async (bus) => {
        const consumption = await bus.consume(queue, handler, options);
        options?.onReopened?.();
        return consumption;
      },
      consumption: undefined,
      isClosed: false,
    };
    this.#waiting.push(waiting);
    const close = async (): Promise<void> => {
      waiting.isClosed = true;
      await waiting.consumption?.close();
    };
    return { close, [Symbol.asyncDispose]: close };
  }

  inspect(queueName: string): Promise<QueueState | undefined> {
    return this.#use((bus) => bus.inspect(queueName));
  }

  brokerQueueName(queueName: string): string {
    if (this.#bus === undefined) throw brokerUnreachable();
    return this.#bus.brokerQueueName(queueName);
  }

  deadQueueName(queueName: string): string {
    if (this.#bus === undefined) throw brokerUnreachable();
    return this.#bus.deadQueueName(queueName);
  }

  bury(...[queue, message, death]: Parameters<Bus['bury']>): Promise<void> {
    return this.#use((bus) => bus.bury(queue, message, death));
  }

  deadLetters(
    queueName: string,
    options?: { readonly limit?: number },
  ): Promise<readonly DeadLetter[]> {
    return this.#use((bus) => bus.deadLetters(queueName, options));
  }

  replay(queueName: string, options?: { readonly ids?: readonly string[] }): Promise<number> {
    return this.#use((bus) => bus.replay(queueName, options));
  }

  oldest(queueName: string): Promise<number | undefined> {
    return this.#use((bus) => bus.oldest(queueName));
  }

  purge(queueName: string): Promise<number> {
    return this.#use((bus) => bus.purge(queueName));
  }

  delete(queueName: string): Promise<void> {
    return this.#use((bus) => bus.delete(queueName));
  }

  async close(): Promise<void> {
    this.#closing.abort(new LegateError('UNAVAILABLE', 'the bus was closed before it was open'));
    await this.opened.catch(() => undefined);
    await this.#bus?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
