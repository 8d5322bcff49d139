/** Milliseconds without a notice after which a store counts as closed. */
const silenceMs = 100_000;

/**
 * The other stores and the tasks that they follow, according to their notices. A store announces itself
 * and its followed tasks every 30 s, so that lost notices have no lasting effect. Tasks that a store no
 * longer announces expire.
 */
export class Interest {
  readonly #now: () => number;
  /** Other stores, and when their last notice arrived. */
  readonly #lastSeen = new Map<string, number>();
  /** By task: the stores that follow it, and when each last announced it. */
  readonly #followers = new Map<string, Map<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The number of other stores. */
  get others(): number {
    return this.#lastSeen.size;
  }

  /** Records a notice of a store. Returns whether the store is new. */
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

  /** Removes stores without a recent notice, and tasks that no store has announced recently. */
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
