import { seal, type TaskEntry } from './task-entry.ts';

/** Events put into text in one turn of the event loop: some tenths of a millisecond. */
const eventsAtOnce = 500;

/**
 * Seals ended tasks a few at a time: a long answer is a lot of text to put together, and many that
 * end at once must not hold up those that still speak.
 */
export class Sealing {
  #tasks: TaskEntry[] = [];
  #first = 0;
  /** How many events the waiting tasks have. */
  #events = 0;

  add(task: TaskEntry): void {
    this.#tasks.push(task);
    this.#events += task.version;
    if (this.#tasks.length === 1) setImmediate(() => this.#some());
  }

  #some(): void {
    // In proportion to what waits, so that it cannot grow without end.
    let budget = Math.max(eventsAtOnce, this.#events / 8);
    for (let task = this.#tasks[this.#first]; task !== undefined; task = this.#tasks[this.#first]) {
      if (budget <= 0) {
        setImmediate(() => this.#some());
        return;
      }
      budget -= task.version;
      this.#events -= task.version;
      this.#first += 1;
      seal(task);
    }
    this.#tasks = [];
    this.#first = 0;
  }
}
