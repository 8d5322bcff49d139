/** Up to this limit every admission counts. */
const exactLimit = 1_000;
/** How long a count of a larger limit holds, in milliseconds. */
const freshMs = 1_000;
/** What part of the free contexts one replica may open before it counts again. */
const share = 16;

interface Known {
  readonly max: number;
  readonly countedAt: number;
  readonly isFull: boolean;
  /** Contexts that may be opened without counting. */
  room: number;
  isCounting: boolean;
}

/**
 * Spares admissions the count of open contexts where the limit is large: what was counted a moment ago
 * is taken as known. Small limits are exact; a large one may be exceeded for a moment, by what other
 * replicas were still allowed to open.
 */
export class ContextRoom {
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
    if (known.room === 0) return max;
    known.room -= 1;
    return 0;
  }

  /** What an admission has counted. */
  learn(agent: string, max: number, contexts: number): void {
    const room = Math.max(0, Math.floor((max - contexts) / share));
    const isFull = contexts >= max;
    this.#agents.set(agent, { max, countedAt: this.#now(), isFull, room, isCounting: false });
  }

  /** The count did not come. */
  forget(agent: string): void {
    this.#agents.delete(agent);
  }
}
