/** A look into the store for turns that nobody runs. */
export interface Look {
  /** The keys this process was at work on when the look began. */
  readonly keys: readonly string[];
  /** Whether this process has started a turn since, whose claim the look has found. */
  isStarted(turn: { readonly id: number; readonly key: string }): Promise<boolean>;
  end(): void;
}

/** Calls under way on one key. They are many and short, and nearly never waited for. */
class Calls {
  #last = 0;
  #open = 0;
  #waiting: { readonly upTo: number; left: number; readonly resolve: () => void }[] | undefined;

  begin(): number {
    this.#open += 1;
    this.#last += 1;
    return this.#last;
  }

  /** Says whether it was the last one. */
  end(call: number): boolean {
    this.#open -= 1;
    for (const waiter of this.#waiting ?? []) {
      if (call <= waiter.upTo) waiter.left -= 1;
      if (waiter.left === 0) waiter.resolve();
    }
    return this.#open === 0;
  }

  /** Resolves when those that are under way now have ended. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push({ upTo: this.#last, left: this.#open, resolve });
    });
  }
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
  readonly #calls = new Map<string, Calls>();
  readonly #turns = new Map<string, number>();
  readonly #looks = new Set<Set<number>>();

  /** To be held from before a call that may claim a turn of this key until the turn is started. */
  claiming(key: string): Disposable {
    let calls = this.#calls.get(key);
    if (calls === undefined) this.#calls.set(key, (calls = new Calls()));
    const call = calls.begin();
    return {
      [Symbol.dispose]: () => {
        if (calls.end(call)) this.#calls.delete(key);
      },
    };
  }

  /** Whether calls are under way that may bring a turn here. */
  get isClaiming(): boolean {
    return this.#calls.size > 0;
  }

  /** Resolves once those that are under way now have ended. */
  async claimed(): Promise<void> {
    await Promise.all(Array.from(this.#calls.values(), (calls) => calls.ended()));
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
        await this.#calls.get(key)?.ended();
        return started.has(id);
      },
      end: () => void this.#looks.delete(started),
    };
  }
}
