/** A store without a notice for this long counts as gone, in milliseconds. */
const silenceMs = 100_000;

/**
 * Which other stores there are, and which tasks they follow, as far as their notices arrived. A store
 * announces itself and all that it follows every 30 s, so that lost notices have no lasting effect: a task that
 * a store no longer announces is forgotten.
 */
export class Interest {
  readonly #now: () => number;
  /** Other stores, and when their last notice arrived. */
  readonly #lastSeen = new Map<string, number>();
  /** The stores that follow a task, and when they last announced it. */
  readonly #followers = new Map<string, Map<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How many other stores there are. */
  get others(): number {
    return this.#lastSeen.size;
  }

  /** True for one that was not known. */
  touch(origin: string): boolean {
    const isNew = !this.#lastSeen.has(origin);
    this.#lastSeen.set(origin, this.#now());
    return isNew;
  }

  follow(origin: string, taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      let followers = this.#followers.get(taskId);
      if (followers === undefined) this.#followers.set(taskId, (followers = new Map()));
      followers.set(origin, this.#now());
    }
  }

  leave(origin: string, taskIds: Iterable<string>): void {
    for (const taskId of taskIds) {
      const followers = this.#followers.get(taskId);
      followers?.delete(origin);
      if (followers?.size === 0) this.#followers.delete(taskId);
    }
  }

  isFollowed(taskId: string): boolean {
    return this.#followers.has(taskId);
  }

  /** Forgets stores that have been silent for too long, and tasks that none has announced since. */
  prune(): void {
    const since = this.#now() - silenceMs;
    for (const [origin, seen] of this.#lastSeen) if (seen < since) this.#lastSeen.delete(origin);
    for (const [taskId, followers] of this.#followers) {
      for (const [origin, announced] of followers) {
        if (announced < since) this.leave(origin, [taskId]);
      }
    }
  }
}
