import type { StreamResponse } from '../../protocol/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';

interface Update {
  readonly event: StreamResponse;
  readonly text: string;
}

/** Updates held back at most: more are worth telling at once. */
const mostHeld = 64;

/**
 * What is told of a task on its way. A task that is over in a moment is told by its result alone,
 * which has all of it: only words that were said on the way are told besides.
 *
 * - **holding**: for the first moments updates are held back.
 * - **telling**: they are told, and so is everything from then on, at once.
 */
export class Telling {
  readonly #send: (text: string) => Promise<void>;
  readonly #timer: Timer | undefined;
  #held: Update[] | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: {
    send: (text: string) => Promise<void>;
    scheduler: Scheduler;
    /** Milliseconds. */
    graceMs: number;
  }) {
    this.#send = options.send;
    if (options.graceMs <= 0) return;
    this.#held = [];
    this.#timer = options.scheduler.after(options.graceMs, () => this.#release());
  }

  async tell(event: StreamResponse, text: string): Promise<void> {
    if (this.#held === undefined) {
      await this.#sending;
      return this.#send(text);
    }
    this.#held.push({ event, text });
    if (this.#held.length < mostHeld) return;
    this.#release();
    await this.#sending;
  }

  /** The task is over: its result comes next. */
  async end(): Promise<void> {
    this.#timer?.cancel();
    this.#held = this.#held?.filter(({ event }) => hasWords(event));
    this.#release();
    await this.#sending;
  }

  /** Nothing more is told. */
  stop(): void {
    this.#timer?.cancel();
  }

  #release(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    this.#sending = held.reduce(
      (before, { text }) => before.then(() => this.#send(text)),
      Promise.resolve(),
    );
    // Whoever tells next or ends hears of a failure.
    this.#sending.catch(() => undefined);
  }
}

function hasWords(event: StreamResponse): boolean {
  return 'statusUpdate' in event && event.statusUpdate.status.message !== undefined;
}
