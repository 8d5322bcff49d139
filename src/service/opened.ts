/**
 * Resources that a program has opened. Disposal closes them in reverse order, for example when a later
 * step fails, unless they were moved to another owner. `AsyncDisposableStack` needs Node 24.
 * @example
 * await using opened = new Opened();
 * const store = await openStore(options);
 * opened.defer(() => store.close());
 */
export class Opened implements AsyncDisposable {
  #closers: (() => PromiseLike<void>)[] = [];

  defer(close: () => PromiseLike<void>): void {
    this.#closers.push(close);
  }

  use<T extends AsyncDisposable>(resource: T): T {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  /** Hands everything over to another owner. */
  move(): Opened {
    const moved = new Opened();
    moved.#closers = this.#closers;
    this.#closers = [];
    return moved;
  }

  /** Closes all resources, even if one fails; throws the first error. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.splice(0).toReversed()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
