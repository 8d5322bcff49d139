import type {
  Bus,
  ConsumeOptions,
  Consumption,
  Delivery,
  OutgoingMessage,
  PublishOptions,
  Queue,
  AckDecision,
} from '../../src/bus/index.ts';
import { LegateError } from '../../src/protocol/index.ts';
import type { BusConditions } from './conditions.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import type { Lane } from './virtual-time.ts';

export interface FaultyBusOptions {
  readonly inner: Bus;
  readonly replica: string;
  /** The time of the process. */
  readonly lane: Lane;
  /** The time of the broker, which continues when the process does not. */
  readonly broker: Lane;
  readonly conditions: BusConditions;
  readonly history: History;
  readonly random: Random;
  /** Milliseconds since the world began. */
  readonly now: () => number;
}

/**
 * A broker across a network that is not to be trusted: messages of one process keep their order, but
 * each of them may be refused, or taken and its receipt lost; a delivery may come again though it was
 * settled; and when the connection breaks, the unacknowledged messages of the process go to others while it
 * is still working on it.
 */
export class FaultyBus implements Bus {
  readonly type = 'memory';
  readonly isConnected = true;
  readonly isBlocked = false;
  readonly #options: FaultyBusOptions;
  readonly brokerVersion = undefined;
  readonly dialect = 'legate';
  readonly #inHand = new Set<() => void>();
  readonly #consumptions = new Set<Consumption>();
  /** When the last message arrives, in milliseconds since the world began. */
  #lastArrival = 0;
  #isGone = false;

  constructor(options: FaultyBusOptions) {
    this.#options = options;
  }

  get queues(): Bus['queues'] {
    return this.#options.inner.queues;
  }

  publish(topic: string, message: OutgoingMessage, options: PublishOptions = {}): Promise<void> {
    const { inner, lane, broker, conditions, random, history, replica } = this.#options;
    const fails = random.chance(conditions.failing);
    const isLate = fails && random.chance(conditions.late);
    const isLost = fails && !isLate;
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => void lane.after(random.next(), settle);
      this.#inOrder(broker, () => {
        const end = isLost ? ' is lost' : isLate ? ', and the receipt is lost' : '';
        history.note(replica, () => `tells ${topic} ${message.type} ${brief(message)}${end}`);
        if (isLost) return answer(() => reject(busFailed(topic)));
        inner.publish(topic, message, options).then(
          () => answer(isLate ? () => reject(busFailed(topic)) : resolve),
          (error: Error) => answer(() => reject(error)),
        );
      });
      // What needs no receipt is gone as soon as it is on its way.
      if (options.confirm === false) answer(resolve);
    });
  }

  declare(...input: Parameters<Bus['declare']>): ReturnType<Bus['declare']> {
    return this.#options.inner.declare(...input);
  }

  async consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options?: ConsumeOptions,
  ): Promise<Consumption> {
    const { inner, lane } = this.#options;
    const consumption = await inner.consume(
      queue,
      (delivery) => this.#handle(delivery, handler),
      options,
    );
    this.#consumptions.add(consumption);
    if (this.#isGone) void consumption.close();
    await lane.sleep(1);
    return consumption;
  }

  async inspect(queueName: string): ReturnType<Bus['inspect']> {
    await this.#options.lane.sleep(this.#options.random.next());
    return this.#options.inner.inspect(queueName);
  }

  brokerQueueName(queueName: string): string {
    return this.#options.inner.brokerQueueName(queueName);
  }

  deadQueueName(queueName: string): string {
    return this.#options.inner.deadQueueName(queueName);
  }

  deadLetters(...input: Parameters<Bus['deadLetters']>): ReturnType<Bus['deadLetters']> {
    return this.#options.inner.deadLetters(...input);
  }

  bury(...input: Parameters<Bus['bury']>): ReturnType<Bus['bury']> {
    return this.#options.inner.bury(...input);
  }

  replay(...input: Parameters<Bus['replay']>): ReturnType<Bus['replay']> {
    return this.#options.inner.replay(...input);
  }

  oldest(queueName: string): ReturnType<Bus['oldest']> {
    return this.#options.inner.oldest(queueName);
  }

  purge(queueName: string): Promise<number> {
    return this.#options.inner.purge(queueName);
  }

  delete(queueName: string): Promise<void> {
    return this.#options.inner.delete(queueName);
  }

  /** The connection broke: the broker redelivers the unacknowledged messages of the process. */
  cut(): void {
    for (const giveBack of this.#inHand) giveBack();
  }

  /** The process is gone. */
  async close(): Promise<void> {
    this.#isGone = true;
    for (const consumption of this.#consumptions) void consumption.close();
    this.cut();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #handle(
    delivery: Delivery,
    handler: (delivery: Delivery) => Promise<AckDecision>,
  ): Promise<AckDecision> {
    const { lane, conditions, random, history, replica } = this.#options;
    return new Promise((resolve) => {
      const settle = (decision: AckDecision): void => {
        this.#inHand.delete(giveBack);
        resolve(decision);
      };
      const giveBack = (): void => settle({ kind: 'release' });
      if (this.#isGone) return giveBack();
      this.#inHand.add(giveBack);
      const settled = (decision: AckDecision): void => {
        history.note(replica, () => `settles ${brief(delivery)}: ${decision.kind}`);
        const isUnheard = random.chance(conditions.repeated);
        lane.after(random.next(), () => (isUnheard ? giveBack() : settle(decision)));
      };
      lane.after(random.next(), () => {
        history.note(replica, () => `takes ${delivery.type} ${brief(delivery)}`);
        handler(delivery).then(settled, (error: Error) =>
          settled({ kind: 'retry', reason: error.message }),
        );
      });
    });
  }

  #inOrder(broker: Lane, arrive: () => void): void {
    const { random } = this.#options;
    const now = this.#options.now();
    this.#lastArrival = Math.max(this.#lastArrival, now + random.next() * 2);
    // Entries of one time run in the order in which they were made.
    broker.after(this.#lastArrival - now, arrive);
  }
}

function brief({ correlationId }: { readonly correlationId?: string | undefined }): string {
  return correlationId ?? '-';
}

function busFailed(topic: string): LegateError {
  return new LegateError('UNAVAILABLE', `the simulated broker failed: ${topic}`);
}
