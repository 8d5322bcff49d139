/** Up to this limit every admission counts the open contexts. */
const exactLimit = 64;
/** How long a count for a larger limit is valid, in milliseconds: shorter while the limit is reached. */
const freshMs = 5_000;
const fullMs = 1_000;
/** Replicas may open a half of the free contexts, in equal parts, before they count again. */
const leastShares = 16;

interface Known {
  readonly max: number;
  readonly countedAt: number;
  readonly isFull: boolean;
  /** How many more contexts may be opened before the next count. */
  permits: number;
  isCounting: boolean;
  /** Tasks let in by a permit since the count: each gives it back at its end. */
  readonly permitted: Set<string>;
}

/**
 * Caches the number of open contexts: counting takes a lock on the agent, and admissions that all
 * count run one after the other over all replicas. Limits up to 64 are exact. With a larger limit, a
 * replica that has counted shares out permits: with R replicas, each has 1/2R of the contexts that
 * were free (1/16 at most). All of them together exceed the limit by a half of it at most.
 */
export class ContextQuota {
  readonly #agents = new Map<string, Known>();
  readonly #now: () => number;
  readonly #replicas: () => number;

  /** `replicas`: how many there are. */
  constructor(replicas: () => number = () => 1, now: () => number = () => performance.now()) {
    this.#replicas = replicas;
    this.#now = now;
  }

  /** The limit to ask the database for: 0 for no count, -1 when it is known to be reached. */
  limitFor(agent: string, max: number, taskId: string): number {
    if (max <= exactLimit) return max;
    const known = this.#agents.get(agent);
    if (known?.max !== max) return max;
    // One admission counts; the others go by what was known before.
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

  /** What an admission has counted. */
  learn(agent: string, max: number, contexts: number): void {
    const shares = Math.max(leastShares, 2 * this.#replicas());
    const permits = Math.max(0, Math.floor((max - contexts) / shares));
    const isFull = contexts >= max;
    const countedAt = this.#now();
    const permitted = new Set<string>();
    this.#agents.set(agent, { max, countedAt, isFull, permits, isCounting: false, permitted });
  }

  /** A task has ended, or was not let in. */
  ended(taskId: string): void {
    for (const known of this.#agents.values()) {
      if (known.permitted.delete(taskId)) known.permits += 1;
    }
  }

  /** The count did not come. */
  forget(agent: string): void {
    this.#agents.delete(agent);
  }
}
