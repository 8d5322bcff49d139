/**
 * Hands pieces from a callback to an iterator, one at a time: `put` resolves when its piece was taken,
 * so the producer goes no faster than the consumer.
 */
export class Pieces<T> implements AsyncIterable<T> {
  #waiting: { readonly value: T; readonly taken: () => void }[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;

  put(value: T): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ value, taken: resolve });
      this.#wake?.();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next !== undefined) {
          yield next.value;
          next.taken();
        } else if (this.#isClosed) return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
        }
      }
    } finally {
      // A consumer that stops early must not leave the producer waiting.
      this.#isClosed = true;
      for (const { taken } of this.#waiting.splice(0)) taken();
    }
  }
}
