import type { LogEvent, Store } from '../store/index.ts';
import type { Follower, Hub } from './hub.ts';

/** Events kept for a reader that is a little slow; a slower one reads the store again. */
const bufferLimit = 64;
/** Events fetched from the store at once. */
const pageSize = 128;

/**
 * Reads one task's log in order, from a number on, for as long as its consumer pulls.
 *
 * - **following**: the buffer holds everything after the cursor; offered events extend it.
 * - **behind**: something was offered that the buffer could not take, or another replica wrote. The
 *   next pull reads the store from the cursor on, and following resumes at its end.
 * - **closed**: pulls give undefined.
 *
 * However slow the consumer, at most `bufferLimit + pageSize` events are in memory, and whoever
 * offers never waits.
 */
export class LogReader implements Follower {
  readonly #store: Store;
  readonly #taskId: string;
  readonly #unfollow: () => void;
  #cursor: number;
  #buffer: LogEvent[] = [];
  #behind: boolean;
  #closed = false;
  #wake: (() => void) | undefined;

  /** `behind`: the log may already hold events after `cursor`. */
  constructor(options: {
    store: Store;
    hub: Hub;
    taskId: string;
    cursor: number;
    behind: boolean;
  }) {
    this.#store = options.store;
    this.#taskId = options.taskId;
    this.#cursor = options.cursor;
    this.#behind = options.behind;
    this.#unfollow = options.hub.follow(options.taskId, this);
  }

  offer(events: readonly LogEvent[]): void {
    if (this.#closed) return;
    const first = events[0];
    if (first === undefined) return;
    const expected = (this.#buffer.at(-1)?.sequence ?? this.#cursor) + 1;
    if (
      !this.#behind &&
      first.sequence === expected &&
      this.#buffer.length + events.length <= bufferLimit
    ) {
      for (const event of events) this.#buffer.push(event);
    } else {
      this.#behind = true;
    }
    this.#signal();
  }

  nudge(): void {
    this.#behind = true;
    this.#signal();
  }

  /** The next event, or undefined once closed. One pull at a time. */
  async next(): Promise<LogEvent | undefined> {
    while (!this.#closed) {
      const event = this.#buffer.shift();
      if (event !== undefined) {
        this.#cursor = event.sequence;
        return event;
      }
      if (this.#behind) {
        this.#behind = false;
        const events = await this.#store.readEvents(this.#taskId, this.#cursor, pageSize);
        // While the store was read, offers may have come: what they brought is kept only where it
        // continues what was read, everything else is read again.
        const last = events.at(-1)?.sequence ?? this.#cursor;
        const offered = this.#buffer;
        this.#buffer = [...events];
        for (const event of offered) {
          if (event.sequence === (this.#buffer.at(-1)?.sequence ?? last) + 1) {
            this.#buffer.push(event);
          }
        }
        if (events.length === pageSize) this.#behind = true;
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return undefined;
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
