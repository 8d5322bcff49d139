import { errorMessage } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Delivery, AckDecision } from './bus.ts';
import type { Slots } from './slots.ts';

export interface ConsumerPoolOptions<D extends Delivery> {
  readonly handler: (delivery: Delivery) => Promise<AckDecision>;
  readonly slots: Slots;
  /** Acknowledges or rejects the delivery. If it fails, the broker redelivers the message. */
  readonly settle: (delivery: D, decision: AckDecision) => Promise<void>;
  readonly logger: Logger;
}

/**
 * Runs the handler for the deliveries of one consumer, as long as there are free slots.
 *
 * - **open**: deliveries wait for a free slot and are handled.
 * - **closed**: no delivery is started; `close` resolves once the started ones are settled.
 */
export class ConsumerPool<D extends Delivery> {
  readonly #options: ConsumerPoolOptions<D>;
  #running = 0;
  /** Set by `close`. */
  #settled: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;
  #waiting: D[] = [];
  #isClosed = false;
  readonly #stopListening: () => void;

  constructor(options: ConsumerPoolOptions<D>) {
    this.#options = options;
    this.#stopListening = options.slots.onChange(() => this.#next());
  }

  offer(delivery: D): void {
    this.#waiting.push(delivery);
    this.#next();
  }

  /** Removes deliveries that were not started, and returns them. */
  withdraw(matches: (delivery: D) => boolean = () => true): readonly D[] {
    const withdrawn = this.#waiting.filter(matches);
    this.#waiting = this.#waiting.filter((delivery) => !matches(delivery));
    return withdrawn;
  }

  /** Starts no more deliveries; resolves once the started ones are settled. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    this.#settled ??= new Promise((resolve) => {
      if (this.#running === 0) resolve();
      else this.#onIdle = resolve;
    });
    return this.#settled;
  }

  #next(): void {
    while (!this.#isClosed && this.#waiting.length > 0 && this.#options.slots.take()) {
      const delivery = this.#waiting.shift();
      if (delivery === undefined) return;
      this.#running += 1;
      void this.#handle(delivery);
    }
  }

  async #handle(delivery: D): Promise<void> {
    const { settle, logger, slots } = this.#options;
    const decision = await this.#decide(delivery);
    try {
      await settle(delivery, decision);
    } catch (error) {
      logger.warn({ messageId: delivery.id, topic: delivery.topic, error }, 'bus.settle.failed');
    }
    this.#running -= 1;
    if (this.#running === 0) this.#onIdle?.();
    // Also calls the listener of this pool, which starts the next delivery.
    slots.give();
  }

  async #decide(delivery: D): Promise<AckDecision> {
    const { handler, logger } = this.#options;
    try {
      return await handler(delivery);
    } catch (error) {
      logger.error({ messageId: delivery.id, topic: delivery.topic, error }, 'bus.handler.failed');
      return { kind: 'retry', reason: errorMessage(error) };
    }
  }
}
