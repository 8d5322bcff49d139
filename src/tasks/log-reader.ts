import { taskNotFound } from '../protocol/index.ts';
import type { LogEvent, Store } from '../store/index.ts';

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
  /** Tasks of whose appends by other replicas the store tells, with what ends that. */
  readonly #asked = new Map<string, () => void>();
  readonly #ask: (taskId: string) => () => void;

  /** `ask` asks the store for notices of a task, until its result is called. */
  constructor(ask: (taskId: string) => () => void = () => () => {}) {
    this.#ask = ask;
  }

  /** With `isLocal` the turn runs in this process, which publishes its events itself. */
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

  /** Asks for notices of tasks whose turn ran here when they were followed first, and has ended. */
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

/** Events kept for a reader that is a little slow; a slower one reads the store again. */
const bufferLimit = 64;
/** Events fetched from the store at once. */
const pageSize = 128;

/**
 * Reads one task's log in order, from a number on, for as long as its consumer takes.
 *
 * - **following**: the buffer holds everything after the cursor; offered events extend it.
 * - **lagging**: something was offered that the buffer could not take, or another replica wrote. The
 *   next wait reads the store from the cursor on, and following resumes at its end.
 * - **closed**: there is nothing to take, and nothing to wait for.
 *
 * A wait that fails changes nothing: the next one tries again.
 *
 * However slow the consumer, at most `bufferLimit + pageSize` events are in memory, and a consumer that
 * offers never waits.
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
    /** A plain message may still take the place of the task. */
    isProvisional: boolean;
  }) {
    this.#store = options.store;
    this.#isProvisional = options.isProvisional;
    this.#taskId = options.taskId;
    this.#cursor = options.cursor;
    this.#isLagging = options.isLagging;
    // A reader that has nothing to catch up with follows a turn that starts here.
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
   * Resolves when there may be something to take, or the reader was closed; rejects with
   * `TASK_NOT_FOUND` when the task has vanished. One wait at a time.
   */
  arrival(): Promise<void> {
    if (this.#closed || this.#buffer.length > 0) return Promise.resolve();
    if (this.#isLagging) return this.#catchUp();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Everything that was stored when the store was last read, or offered since, has been taken. */
  get isCurrent(): boolean {
    return !this.#isLagging && this.#buffer.length === 0;
  }

  /** The next event if it is here already. */
  take(): LogEvent | undefined {
    const event = this.#buffer.shift();
    if (event !== undefined) this.#cursor = event.sequence;
    return event;
  }

  async #catchUp(): Promise<void> {
    const events = await this.#read();
    if (this.#closed) return;
    // While the store was read, offers may have come: what they brought is kept only where it
    // continues what was read, everything else is read again.
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
      // A plain message took the place of the task: nothing more will ever come.
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
