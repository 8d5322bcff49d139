import type { Scheduler, Timer } from '../../../tasks/index.ts';

interface Entry {
  at: number;
  readonly delay: number;
  readonly callback: () => void;
}

/** A scheduler whose clock only moves by `advance`. */
export class ManualScheduler implements Scheduler {
  #now = Date.UTC(2026, 10, 15, 10);
  readonly #timers = new Set<Entry>();
  #ids = 0;

  now(): number {
    return this.#now;
  }

  after(delay: number, callback: () => void): Timer {
    const entry: Entry = { at: this.#now + delay, delay, callback };
    this.#timers.add(entry);
    return {
      cancel: () => void this.#timers.delete(entry),
      restart: () => {
        entry.at = this.#now + delay;
        this.#timers.add(entry);
      },
    };
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  uuid(): string {
    this.#ids += 1;
    return `00000000-0000-7000-8000-${this.#ids.toString(16).padStart(12, '0')}`;
  }

  /** Moves the clock and fires due timers in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end);
      const next = due.reduce<Entry | undefined>(
        (first, entry) => (first === undefined || entry.at < first.at ? entry : first),
        undefined,
      );
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }
}
