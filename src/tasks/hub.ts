import type { LogEvent } from '../store/index.ts';

/** A subscriber of one task. Must not throw and must not block. */
export interface Follower {
  /** Events that were just stored, in order. */
  offer(events: readonly LogEvent[]): void;
  /** The log may hold more than was offered. */
  wake(): void;
}

/** The subscribers of each task in this process. Holds no events: the log does. */
export class Hub {
  readonly #followers = new Map<string, Set<Follower>>();

  follow(taskId: string, follower: Follower): () => void {
    let followers = this.#followers.get(taskId);
    if (followers === undefined) {
      followers = new Set();
      this.#followers.set(taskId, followers);
    }
    followers.add(follower);
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(taskId) === followers) {
        this.#followers.delete(taskId);
      }
    };
  }

  /** Call only after the events were stored. */
  publish(taskId: string, events: readonly LogEvent[]): void {
    const followers = this.#followers.get(taskId);
    if (followers === undefined) return;
    for (const follower of followers) follower.offer(events);
  }

  wake(taskId: string): void {
    const followers = this.#followers.get(taskId);
    if (followers === undefined) return;
    for (const follower of followers) follower.wake();
  }

  wakeAll(): void {
    for (const followers of this.#followers.values()) {
      for (const follower of followers) follower.wake();
    }
  }

  get size(): number {
    return this.#followers.size;
  }
}
