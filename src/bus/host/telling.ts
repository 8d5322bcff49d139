import type { StreamResponse } from '../../protocol/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';

interface Update {
  readonly event: StreamResponse;
  readonly text: string;
}

/** Updates held back at most: more are worth telling at once. */
const mostHeld = 64;
/** How many times longer a bare sign of work may wait than what has contents. */
const patience = 4;

/**
 * What is told of a task on its way. A task that is over in a moment is told by its result alone,
 * which has all of it: only words that were said on the way are told besides.
 *
 * - **holding**: for the first moments updates are held back; those without contents for longer, so
 *   that a host with much to do does not make more of it by telling that it works.
 * - **telling**: they are told, and so is everything from then on, at once.
 */
export class Telling {
  readonly #send: (text: string) => Promise<void>;
  readonly #scheduler: Scheduler;
  readonly #graceMs: number;
  #timer: Timer | undefined;
  #holdsContents = false;
  #held: Update[] | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: {
    send: (text: string) => Promise<void>;
    scheduler: Scheduler;
    /** Milliseconds. */
    graceMs: number;
  }) {
    this.#send = options.send;
    this.#scheduler = options.scheduler;
    this.#graceMs = options.graceMs;
    if (options.graceMs > 0) this.#held = [];
  }

  async tell(event: StreamResponse, text: string): Promise<void> {
    if (this.#held === undefined) {
      await this.#sending;
      return this.#send(text);
    }
    this.#held.push({ event, text });
    this.#wait(hasContents(event));
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

  #wait(hasContents: boolean): void {
    if (this.#holdsContents || (this.#timer !== undefined && !hasContents)) return;
    this.#holdsContents = hasContents;
    this.#timer?.cancel();
    const ms = hasContents ? this.#graceMs : this.#graceMs * patience;
    this.#timer = this.#scheduler.after(ms, () => this.#release());
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

function hasContents(event: StreamResponse): boolean {
  return 'artifactUpdate' in event || hasWords(event);
}

function hasWords(event: StreamResponse): boolean {
  return 'statusUpdate' in event && event.statusUpdate.status.message !== undefined;
}
