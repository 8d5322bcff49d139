import type { StreamResponse } from '../../protocol/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';

interface Update {
  readonly event: StreamResponse;
  readonly text: string;
}

export interface TellingOptions {
  readonly send: (text: string) => Promise<void>;
  readonly scheduler: Scheduler;
  /** Milliseconds; 0 tells everything at once. */
  readonly graceMs: number;
}

/** Updates held back at most: more are worth telling at once. */
const mostHeld = 64;

/**
 * What is told of a task on its way. A task that is over in a moment is told by its result alone,
 * which has all of it: only words that were said on the way are told besides.
 *
 * - **holding**: for the first moments updates are held back.
 * - **telling**: they are told, and so is everything from then on, save what the result follows in
 *   the same moment.
 */
export class Telling {
  readonly #options: TellingOptions;
  #timer: Timer | undefined;
  #isHolding: boolean;
  #isFlushing = false;
  #held: Update[] = [];
  #sending: Promise<void> = Promise.resolve();

  constructor(options: TellingOptions) {
    this.#options = options;
    this.#isHolding = options.graceMs > 0;
  }

  async tell(event: StreamResponse, text: string): Promise<void> {
    const { graceMs, send, scheduler } = this.#options;
    if (graceMs <= 0) return send(text);
    this.#held.push({ event, text });
    if (this.#held.length >= mostHeld) {
      this.#release();
      return this.#sending;
    }
    if (this.#isHolding) this.#timer ??= scheduler.after(graceMs, () => this.#release());
    else this.#flushSoon();
    return undefined;
  }

  /** The task is over: its result comes next. */
  async end(): Promise<void> {
    this.#timer?.cancel();
    this.#held = this.#held.filter(({ event }) => hasWords(event));
    this.#release();
    await this.#sending;
  }

  /** Nothing more is told. */
  stop(): void {
    this.#timer?.cancel();
    this.#held = [];
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#options.scheduler.soon(() => {
      this.#isFlushing = false;
      this.#release();
    });
  }

  #release(): void {
    this.#isHolding = false;
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    this.#sending = held.reduce(
      (before, { text }) => before.then(() => this.#options.send(text)),
      this.#sending,
    );
    // Whoever tells next or ends hears of a failure.
    this.#sending.catch(() => undefined);
  }
}

function hasWords(event: StreamResponse): boolean {
  return 'statusUpdate' in event && event.statusUpdate.status.message !== undefined;
}
