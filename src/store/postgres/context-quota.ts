/** Up to this limit every admission counts the open contexts. */
const exactLimit = 64;
/** How long a count for a larger limit is valid, in milliseconds. */
const freshMs = 1_000;
/** One replica may open this fraction (1/16) of the free contexts before it counts again. */
const share = 16;

interface Known {
  readonly max: number;
  readonly countedAt: number;
  readonly isFull: boolean;
  /** How many more contexts may be opened before the next count. */
  permits: number;
  isCounting: boolean;
}

/**
 * Caches the number of open contexts: counting takes a lock on the agent, and admissions that all
 * count run one after the other over all replicas. Limits up to 64 are exact. A larger limit may be
 * exceeded by what other replicas open within a second: a sixteenth of it for each of them at most.
 */
export class ContextQuota {
  readonly #agents = new Map<string, Known>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The limit to ask the database for: 0 for no count, -1 when it is known to be reached. */
  limitFor(agent: string, max: number): number {
    if (max <= exactLimit) return max;
    const known = this.#agents.get(agent);
    if (known?.max !== max) return max;
    // One admission counts; the others go by what was known before.
    if (!known.isCounting && this.#now() - known.countedAt >= freshMs) {
      known.isCounting = true;
      return max;
    }
    if (known.isFull) return -1;
    if (known.permits === 0) return max;
    known.permits -= 1;
    return 0;
  }

  /** What an admission has counted. */
  learn(agent: string, max: number, contexts: number): void {
    const permits = Math.max(0, Math.floor((max - contexts) / share));
    const isFull = contexts >= max;
    this.#agents.set(agent, { max, countedAt: this.#now(), isFull, permits, isCounting: false });
  }

  /** The count did not come. */
  forget(agent: string): void {
    this.#agents.delete(agent);
  }
}
