/** Up to this limit, every admission counts the open contexts. */
const exactLimit = 64;
/** Milliseconds that a count for a larger limit is valid; shorter while the limit is reached. */
const freshMs = 5_000;
const fullMs = 1_000;
/** Replicas can open half of the free contexts, in equal shares, before they count again. */
const leastShares = 16;

interface Known {
  readonly max: number;
  readonly countedAt: number;
  readonly isFull: boolean;
  /** Contexts that this replica can open before the next count. */
  permits: number;
  isCounting: boolean;
  /** Tasks admitted by a permit since the count. Each returns its permit when it ends. */
  readonly permitted: Set<string>;
}

/**
 * Caches the number of open contexts. Counting locks the agent, so that admissions that count are
 * serialized over all replicas. Limits up to 64 are exact. With a larger limit, a replica that has
 * counted grants permits: with R replicas, each grants 1/2R of the free contexts (1/16 at most). All
 * replicas together exceed the limit by half at most.
 */
export class ContextQuota {
  readonly #agents = new Map<string, Known>();
  readonly #now: () => number;
  readonly #replicas: () => number;

  /** `replicas` returns the number of replicas. */
  constructor(replicas: () => number = () => 1, now: () => number = () => performance.now()) {
    this.#replicas = replicas;
    this.#now = now;
  }

  /** The limit to pass to the database: 0 for no count, -1 if the limit is known to be reached. */
  limitFor(agent: string, max: number, taskId: string): number {
    if (max <= exactLimit) return max;
    const known = this.#agents.get(agent);
    if (known?.max !== max) return max;
    // One admission counts. The others use the previous count.
    const age = this.#now() - known.countedAt;
    if (!known.isCounting && age >= (known.isFull ? fullMs : freshMs)) {
      known.isCounting = true;
      return max;
    }
    if (known.isFull) return -1;
    if (known.permits === 0) return max;
    known.permits -= 1;
    known.permitted.add(taskId);
    return 0;
  }

  /** Stores the count of an admission. */
  learn(agent: string, max: number, contexts: number): void {
    const shares = Math.max(leastShares, 2 * this.#replicas());
    const permits = Math.max(0, Math.floor((max - contexts) / shares));
    const isFull = contexts >= max;
    const countedAt = this.#now();
    const permitted = new Set<string>();
    this.#agents.set(agent, { max, countedAt, isFull, permits, isCounting: false, permitted });
  }

  /** Returns the permit of a task that has ended or was not admitted. */
  ended(taskId: string): void {
    for (const known of this.#agents.values()) {
      if (known.permitted.delete(taskId)) known.permits += 1;
    }
  }

  /** Discards the count of an agent after a failed count. */
  forget(agent: string): void {
    this.#agents.delete(agent);
  }
}
