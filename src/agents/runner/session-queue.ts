/** Lets those who come for the same name in one after the other, in the order of their coming. */
export class SessionQueue {
  /** The last of each name, for whose leaving the next one waits. */
  readonly #last = new Map<string, Promise<void>>();

  /** Waits for the place; the function returned gives it up. */
  async enter(name: string): Promise<() => void> {
    const before = this.#last.get(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(name, promise);
    await before;
    return () => {
      if (this.#last.get(name) === promise) this.#last.delete(name);
      resolve();
    };
  }
}
