const taken = Promise.resolve();

/**
 * Passes events from concurrent work into a generator. A producer waits while the channel is full, so a
 * slow consumer slows the work down instead of filling memory.
 *
 * - **open**: pushed items wait for the consumer.
 * - **left**: the consumer has returned; pushed items are dropped. Abort the producers separately.
 */
export class EventChannel<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  #isLeft = false;
  #wakeConsumer: (() => void) | undefined;
  #wakeProducers: (() => void)[] = [];

  constructor(capacity = 64) {
    this.#capacity = capacity;
  }

  /** Resolves once the buffer has accepted the item. */
  push(item: T): Promise<void> {
    if (this.#items.length >= this.#capacity) return this.#pushLater(item);
    this.#add(item);
    return taken;
  }

  /** Yields pushed items until the work settles; returns its result, or throws its error. */
  async *during<R>(work: Promise<R>): AsyncGenerator<T, R> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
      this.#wakeConsumer?.();
    };
    work.then(over, over);
    try {
      for (;;) {
        const item = this.#items.shift();
        if (item !== undefined) {
          if (this.#wakeProducers.length > 0) this.#proceed();
          yield item;
        } else if (isOver) {
          return await work;
        } else {
          await new Promise<void>((resolve) => {
            this.#wakeConsumer = resolve;
          });
          this.#wakeConsumer = undefined;
        }
      }
    } finally {
      this.#isLeft = !isOver;
      this.#proceed();
    }
  }

  async #pushLater(item: T): Promise<void> {
    while (this.#items.length >= this.#capacity && !this.#isLeft) {
      await new Promise<void>((resolve) => this.#wakeProducers.push(resolve));
    }
    this.#add(item);
  }

  #add(item: T): void {
    if (this.#isLeft) return;
    this.#items.push(item);
    this.#wakeConsumer?.();
  }

  #proceed(): void {
    for (const wake of this.#wakeProducers.splice(0)) wake();
  }
}
