/**
 * Carries events from work that runs beside a generator into the generator. A producer waits while
 * the channel is full, so a slow consumer holds up the work instead of filling memory.
 */
export class EventChannel<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  #wakeConsumer: (() => void) | undefined;
  #wakeProducers: (() => void)[] = [];

  constructor(capacity = 64) {
    this.#capacity = capacity;
  }

  async push(item: T): Promise<void> {
    while (this.#items.length >= this.#capacity) {
      await new Promise<void>((resolve) => this.#wakeProducers.push(resolve));
    }
    this.#items.push(item);
    this.#wakeConsumer?.();
  }

  /** Gives what arrives until the work is over; ends with its result, or throws its error. */
  async *during<R>(work: Promise<R>): AsyncGenerator<T, R> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
      this.#wakeConsumer?.();
    };
    work.then(over, over);
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) {
        for (const wake of this.#wakeProducers.splice(0)) wake();
        yield item;
      } else if (isOver) {
        return work;
      } else {
        await new Promise<void>((resolve) => {
          this.#wakeConsumer = resolve;
        });
        this.#wakeConsumer = undefined;
      }
    }
  }
}
