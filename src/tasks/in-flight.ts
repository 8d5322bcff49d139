/** What was in flight before the store was queried for abandoned turns. */
interface InFlightSnapshot {
  /** The keys with a turn or a claim in flight when the snapshot was taken. */
  readonly keys: readonly string[];
  /** Whether this process has started the turn since the snapshot was taken. */
  isStarted(turn: { readonly id: number; readonly key: string }): Promise<boolean>;
  end(): void;
}

/** Claims in flight on one key: many and short, and rarely waited for. */
class Calls {
  #last = 0;
  #open = 0;
  #waiting: { readonly upTo: number; left: number; readonly resolve: () => void }[] | undefined;

  start(): number {
    this.#open += 1;
    this.#last += 1;
    return this.#last;
  }

  /** Returns whether it was the last one. */
  end(call: number): boolean {
    this.#open -= 1;
    for (const waiter of this.#waiting ?? []) {
      if (call <= waiter.upTo) waiter.left -= 1;
      if (waiter.left === 0) waiter.resolve();
    }
    return this.#open === 0;
  }

  /** Resolves when the calls in flight now have ended. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push({ upTo: this.#last, left: this.#open, resolve });
    });
  }
}

/**
 * The turns that run in this process and the calls that may claim one, by key. If the store shows a
 * turn as running in this process under any other key, the answer to its claim was lost, or its run was
 * abandoned.
 *
 * A call that starts after a snapshot may claim a turn that the store then returns as abandoned.
 * `isStarted` therefore waits for the calls in flight on that key and checks which turns they started.
 */
export class InFlightTurns {
  readonly #calls = new Map<string, Calls>();
  readonly #turns = new Map<string, number>();
  readonly #snapshots = new Set<Set<number>>();

  /** Hold it from before a call that may claim a turn of this key until the turn has started. */
  claiming(key: string): Disposable {
    let calls = this.#calls.get(key);
    if (calls === undefined) this.#calls.set(key, (calls = new Calls()));
    const call = calls.start();
    return {
      [Symbol.dispose]: () => {
        if (calls.end(call)) this.#calls.delete(key);
      },
    };
  }

  /** Whether calls are in flight that may claim a turn. */
  get isClaiming(): boolean {
    return this.#calls.size > 0;
  }

  /** Resolves once the calls in flight now have ended. */
  async claimed(): Promise<void> {
    await Promise.all(Array.from(this.#calls.values(), (calls) => calls.ended()));
  }

  /** Hold it while a turn runs. */
  running({ id, key }: { readonly id: number; readonly key: string }): Disposable {
    for (const started of this.#snapshots) started.add(id);
    this.#turns.set(key, (this.#turns.get(key) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#turns.get(key) ?? 0) - 1;
        if (left > 0) this.#turns.set(key, left);
        else this.#turns.delete(key);
      },
    };
  }

  snapshot(): InFlightSnapshot {
    const started = new Set<number>();
    this.#snapshots.add(started);
    return {
      keys: [...new Set([...this.#calls.keys(), ...this.#turns.keys()])],
      isStarted: async ({ id, key }) => {
        await this.#calls.get(key)?.ended();
        return started.has(id);
      },
      end: () => void this.#snapshots.delete(started),
    };
  }
}
