/** A look into the store for turns that nobody runs. */
export interface Look {
  /** The keys this process was at work on when the look began. */
  readonly keys: readonly string[];
  /** Whether this process has started a turn since, whose claim the look has found. */
  isStarted(turn: { readonly id: number; readonly key: string }): Promise<boolean>;
  end(): void;
}

/**
 * What this process is at work on, by key: turns that run here, and calls under way that may bring one
 * here. A turn that the store has running in our name under any other key was claimed by a call whose
 * answer never came, or was given up.
 *
 * A call that began after a look may claim a turn which the look then finds. So a look waits for the
 * calls under way on the key of what it found, and knows which turns were started meanwhile.
 */
export class AtWork {
  /** Each ends with its call. */
  readonly #calls = new Map<string, Set<Promise<void>>>();
  readonly #turns = new Map<string, number>();
  readonly #looks = new Set<Set<number>>();

  /** To be held from before a call that may claim a turn of this key until the turn is started. */
  claiming(key: string): Disposable {
    const { promise, resolve } = Promise.withResolvers<void>();
    const calls = this.#calls.get(key) ?? new Set();
    this.#calls.set(key, calls.add(promise));
    return {
      [Symbol.dispose]: () => {
        calls.delete(promise);
        if (calls.size === 0) this.#calls.delete(key);
        resolve();
      },
    };
  }

  /** Whether calls are under way that may bring a turn here. */
  get isClaiming(): boolean {
    return this.#calls.size > 0;
  }

  /** Resolves once those that are under way now have ended. */
  async claimed(): Promise<void> {
    await Promise.all(Array.from(this.#calls.values(), (calls) => Promise.all(calls)));
  }

  /** To be held while a turn runs. */
  running({ id, key }: { readonly id: number; readonly key: string }): Disposable {
    for (const started of this.#looks) started.add(id);
    this.#turns.set(key, (this.#turns.get(key) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#turns.get(key) ?? 0) - 1;
        if (left > 0) this.#turns.set(key, left);
        else this.#turns.delete(key);
      },
    };
  }

  look(): Look {
    const started = new Set<number>();
    this.#looks.add(started);
    return {
      keys: [...new Set([...this.#calls.keys(), ...this.#turns.keys()])],
      isStarted: async ({ id, key }) => {
        for (const call of this.#calls.get(key) ?? []) await call;
        return started.has(id);
      },
      end: () => void this.#looks.delete(started),
    };
  }
}
