import type { Logger } from '../../telemetry/index.ts';
import type { Delivery, AckDecision } from './bus.ts';

export interface IntakeOptions<D extends Delivery> {
  readonly handler: (delivery: Delivery) => Promise<AckDecision>;
  readonly concurrency: number;
  /** Carries a decision out. Its failure leaves the delivery to be given out again. */
  readonly settle: (delivery: D, decision: AckDecision) => Promise<void>;
  readonly logger: Logger;
}

/**
 * Handles the deliveries of one consumer, so many at a time.
 *
 * - **open**: what is offered waits its turn and is handled.
 * - **closed**: nothing more is begun; `close` resolves once what was begun is settled.
 */
export class Intake<D extends Delivery> {
  readonly #options: IntakeOptions<D>;
  #running = 0;
  /** From `close` on. */
  #settled: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;
  #waiting: D[] = [];
  #isClosed = false;

  constructor(options: IntakeOptions<D>) {
    this.#options = options;
  }

  offer(delivery: D): void {
    this.#waiting.push(delivery);
    this.#next();
  }

  /** Forgets deliveries that were not begun, and returns them. */
  withdraw(isMeant: (delivery: D) => boolean = () => true): readonly D[] {
    const withdrawn = this.#waiting.filter(isMeant);
    this.#waiting = this.#waiting.filter((delivery) => !isMeant(delivery));
    return withdrawn;
  }

  /** Begins nothing more; resolves once what was begun is settled. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#settled ??= new Promise((resolve) => {
      if (this.#running === 0) resolve();
      else this.#onIdle = resolve;
    });
    return this.#settled;
  }

  #next(): void {
    while (!this.#isClosed && this.#running < this.#options.concurrency) {
      const delivery = this.#waiting.shift();
      if (delivery === undefined) return;
      this.#running += 1;
      void this.#handle(delivery);
    }
  }

  async #handle(delivery: D): Promise<void> {
    const { settle, logger } = this.#options;
    const decision = await this.#decide(delivery);
    try {
      await settle(delivery, decision);
    } catch (error) {
      logger.warn({ messageId: delivery.id, topic: delivery.topic, error }, 'bus.settle.failed');
    }
    this.#running -= 1;
    if (this.#running === 0) this.#onIdle?.();
    this.#next();
  }

  async #decide(delivery: D): Promise<AckDecision> {
    const { handler, logger } = this.#options;
    try {
      return await handler(delivery);
    } catch (error) {
      logger.error({ messageId: delivery.id, topic: delivery.topic, error }, 'bus.handler.failed');
      return { kind: 'retry', reason: error instanceof Error ? error.message : String(error) };
    }
  }
}
