// Named imports, so that a test's fake timers do not stop the broker.
import { setImmediate } from 'node:timers';
import type { Channel } from 'rabbitmq-client';

/**
 * Tells the broker which deliveries of one channel are done: together, once for each turn of the
 * event loop, since each word to the broker costs it about as much as a message. The broker numbers
 * the deliveries of a channel from 1.
 *
 * Invariant: one acknowledgement stands for several deliveries only where every delivery up to its
 * number was settled here. A delivery that nobody settles goes back to the queue with the channel,
 * and must not be covered by that of a later one.
 */
export class Acknowledgements {
  readonly #channel: Pick<Channel, 'active' | 'basicAck' | 'basicNack'>;
  /** Settled, beyond the first that is not. */
  readonly #settled = new Set<number>();
  /** Done, and not told yet. */
  #untold: number[] = [];
  /** The lowest number that was not settled. */
  #lowest = 1;

  constructor(channel: Pick<Channel, 'active' | 'basicAck' | 'basicNack'>) {
    this.#channel = channel;
  }

  done(deliveryTag: number): void {
    this.#settle(deliveryTag);
    this.#untold.push(deliveryTag);
    if (this.#untold.length === 1) setImmediate(() => this.flush());
  }

  /** Gives it back, for another consumer to take. */
  release(deliveryTag: number): void {
    if (!this.#channel.active) return;
    this.#settle(deliveryTag);
    this.#channel.basicNack({ deliveryTag, requeue: true });
  }

  /** Has the broker move it to the dead letters of its queue, or drop it where there are none. */
  reject(deliveryTag: number): void {
    if (!this.#channel.active) return;
    this.#settle(deliveryTag);
    this.#channel.basicNack({ deliveryTag, requeue: false });
  }

  /** Tells what is done. On a lost channel nothing can be told: the broker gives it out again. */
  flush(): void {
    const untold = this.#untold;
    this.#untold = [];
    if (!this.#channel.active) return;
    const covered = untold.filter((tag) => tag < this.#lowest);
    if (covered.length > 0) {
      this.#channel.basicAck({ deliveryTag: Math.max(...covered), multiple: covered.length > 1 });
    }
    for (const deliveryTag of untold) {
      if (deliveryTag >= this.#lowest) this.#channel.basicAck({ deliveryTag });
    }
  }

  #settle(deliveryTag: number): void {
    this.#settled.add(deliveryTag);
    while (this.#settled.delete(this.#lowest)) this.#lowest += 1;
  }
}
