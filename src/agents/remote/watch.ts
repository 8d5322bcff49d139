/** The longest that a timer can be set for; setTimeout takes more for 1 ms. */
const longestTimer = 2 ** 31 - 1;

/** A signal with two clocks: one for the whole, and one for silence, which every event restarts. */
export class Watch {
  readonly #controller = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #silence: NodeJS.Timeout | undefined;
  readonly #parent: AbortSignal;
  /** Which of the clocks has run out. */
  expired: 'timeout' | 'inactivity' | undefined;

  constructor(options: {
    readonly signal: AbortSignal;
    /** Milliseconds; 0 for no limit. */
    readonly timeoutMs: number;
    readonly inactivityTimeoutMs: number;
  }) {
    this.#parent = options.signal;
    if (this.#parent.aborted) this.#controller.abort(this.#parent.reason);
    else this.#parent.addEventListener('abort', this.#follow, { once: true });
    this.#arm(options.timeoutMs, 'timeout');
    this.#silence = this.#arm(options.inactivityTimeoutMs, 'inactivity');
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.#silence?.refresh();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#parent.removeEventListener('abort', this.#follow);
  }

  #arm(milliseconds: number, kind: 'timeout' | 'inactivity'): NodeJS.Timeout | undefined {
    if (milliseconds <= 0) return undefined;
    const timer = setTimeout(
      () => {
        this.expired ??= kind;
        this.#controller.abort(new Error(`${kind}: ${milliseconds} ms`));
      },
      Math.min(milliseconds, longestTimer),
    );
    this.#timers.push(timer);
    return timer;
  }

  readonly #follow = (): void => this.#controller.abort(this.#parent.reason);
}
