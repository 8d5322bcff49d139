import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { Invocation } from './invocation.ts';

const longestTimer = 2 ** 31 - 1;

/** The clocks that run on invocations of this process. */
export class Deadlines {
  readonly #scheduler: Scheduler;
  readonly #onDue: (id: string) => void;
  readonly #timers = new Map<string, Timer>();

  constructor(scheduler: Scheduler, onDue: (id: string) => void) {
    this.#scheduler = scheduler;
    this.#onDue = onDue;
  }

  /** Sets the clock anew. It may ring early where the time is very long. */
  set({ id, deadline }: Invocation): void {
    this.clear(id);
    const left = Math.min(Math.max(0, deadline - this.#scheduler.now()), longestTimer);
    this.#timers.set(
      id,
      this.#scheduler.after(left, () => this.#onDue(id)),
    );
  }

  clear(id: string): void {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
  }

  clearAll(): void {
    for (const id of this.#timers.keys()) this.clear(id);
  }
}
