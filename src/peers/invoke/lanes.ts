/**
 * Work on one thing at a time, in order; different things side by side.
 * @example
 * const lanes = new Lanes();
 * void lanes.run('task 1', first);
 * await lanes.run('task 1', second); // begins when the first is over
 */
export class Lanes {
  readonly #lanes = new Map<string, Promise<void>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#lanes.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#lanes.set(key, settled);
    void settled.then(() => {
      if (this.#lanes.get(key) === settled) this.#lanes.delete(key);
    });
    return result;
  }

  /** Resolves when all that was begun is over. */
  async idle(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.all(this.#lanes.values());
  }
}
