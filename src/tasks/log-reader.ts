import { taskNotFound } from '../protocol/index.ts';
import type { LogEvent, Store } from '../store/index.ts';

/** A subscriber of one task. Must not throw and must not block. */
export interface Follower {
  /** Events that were just stored, in order. */
  offer(events: readonly LogEvent[]): void;
  /** The log may hold more than was offered. */
  wake(): void;
}

/** The subscribers of each task in this process. It holds no events: they are in the log. */
export class Hub {
  readonly #followers = new Map<string, Set<Follower>>();
  /** Tasks for which the store notifies about appends of other replicas, with functions to unsubscribe. */
  readonly #asked = new Map<string, () => void>();
  readonly #ask: (taskId: string) => () => void;

  /** `ask` subscribes to the store's notifications of a task, until the returned function is called. */
  constructor(ask: (taskId: string) => () => void = () => () => {}) {
    this.#ask = ask;
  }

  /** With `isLocal`, the turn runs in this process, which publishes its events itself. */
  follow(taskId: string, follower: Follower, { isLocal = false } = {}): () => void {
    let followers = this.#followers.get(taskId);
    if (followers === undefined) {
      followers = new Set();
      this.#followers.set(taskId, followers);
    }
    followers.add(follower);
    if (!isLocal) this.#askFor(taskId);
    return () => {
      followers.delete(follower);
      if (followers.size > 0 || this.#followers.get(taskId) !== followers) return;
      this.#followers.delete(taskId);
      this.#asked.get(taskId)?.();
      this.#asked.delete(taskId);
    };
  }

  /** Subscribes to notifications of followed tasks whose turn ran in this process and has ended. */
  askAgain(isRunning: (taskId: string) => boolean): void {
    for (const taskId of this.#followers.keys()) if (!isRunning(taskId)) this.#askFor(taskId);
  }

  #askFor(taskId: string): void {
    if (!this.#asked.has(taskId)) this.#asked.set(taskId, this.#ask(taskId));
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
}

/** Events buffered for one reader; a reader that falls further behind reads from the store. */
const bufferLimit = 64;
/** Events read from the store at once. */
const pageSize = 128;

/**
 * Reads one task's log in order, from a number on, as its consumer pulls.
 *
 * - **following**: the buffer has all events after the cursor; offered events extend it.
 * - **lagging**: the buffer could not take an offered event, or another replica wrote. The next wait reads
 *   the store from the cursor on; at the end of the log, the reader follows again.
 * - **closed**: there is nothing to take, and nothing to wait for.
 *
 * A wait that fails changes nothing: the next one tries again.
 *
 * However slow the consumer is, at most `bufferLimit + pageSize` events are in memory, and the writer that
 * offers events never waits.
 */
export class LogReader implements Follower {
  readonly #store: Store;
  readonly #taskId: string;
  readonly #isProvisional: boolean;
  readonly #unfollow: () => void;
  #cursor: number;
  #buffer: LogEvent[] = [];
  #isLagging: boolean;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(options: {
    store: Store;
    hub: Hub;
    taskId: string;
    cursor: number;
    /** The log may already hold events after `cursor`. */
    isLagging: boolean;
    /** A plain message may still replace the task. */
    isProvisional: boolean;
  }) {
    this.#store = options.store;
    this.#isProvisional = options.isProvisional;
    this.#taskId = options.taskId;
    this.#cursor = options.cursor;
    this.#isLagging = options.isLagging;
    // A reader that is not lagging follows a turn that starts in this process.
    const isLocal = !options.isLagging;
    this.#unfollow = options.hub.follow(options.taskId, this, { isLocal });
  }

  offer(events: readonly LogEvent[]): void {
    if (this.#closed) return;
    const first = events[0];
    if (first === undefined) return;
    const expected = (this.#buffer.at(-1)?.sequence ?? this.#cursor) + 1;
    if (
      !this.#isLagging &&
      first.sequence === expected &&
      this.#buffer.length + events.length <= bufferLimit
    ) {
      for (const event of events) this.#buffer.push(event);
    } else {
      this.#isLagging = true;
    }
    this.#signal();
  }

  wake(): void {
    this.#isLagging = true;
    this.#signal();
  }

  /**
   * Resolves when an event may be available, or the reader was closed. Rejects with `TASK_NOT_FOUND` if a
   * plain message has replaced the task. One wait at a time.
   */
  arrival(): Promise<void> {
    if (this.#closed || this.#buffer.length > 0) return Promise.resolve();
    if (this.#isLagging) return this.#catchUp();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Whether the consumer has taken all events that were read from the store or offered since. */
  get isCurrent(): boolean {
    return !this.#isLagging && this.#buffer.length === 0;
  }

  /** The next event if it is in the buffer. */
  take(): LogEvent | undefined {
    const event = this.#buffer.shift();
    if (event !== undefined) this.#cursor = event.sequence;
    return event;
  }

  async #catchUp(): Promise<void> {
    const events = await this.#read();
    if (this.#closed) return;
    // Events may have been offered during the read. Those that continue the read events are kept; all
    // others are read again.
    const last = events.at(-1)?.sequence ?? this.#cursor;
    const offered = this.#buffer;
    this.#buffer = [...events];
    for (const event of offered) {
      if (event.sequence === (this.#buffer.at(-1)?.sequence ?? last) + 1) this.#buffer.push(event);
    }
    if (events.length === pageSize) this.#isLagging = true;
  }

  async #read(): Promise<readonly LogEvent[]> {
    this.#isLagging = false;
    try {
      const events = await this.#store.readEvents(this.#taskId, this.#cursor, pageSize);
      // A plain message replaced the task: there will be no more events.
      const isGone =
        events.length === 0 &&
        this.#cursor === 1 &&
        this.#isProvisional &&
        (await this.#store.load(this.#taskId)) === undefined;
      if (isGone) throw taskNotFound(this.#taskId);
      return events;
    } catch (error) {
      this.#isLagging = true;
      throw error;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#buffer = [];
    this.#unfollow();
    this.#signal();
  }

  #signal(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
