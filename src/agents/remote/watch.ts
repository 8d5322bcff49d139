import { Deadline } from '../../time/index.ts';

/** A signal with two clocks: one for the whole, and one for silence, which every event restarts. */
export class Watch {
  readonly #whole: Deadline;
  readonly #silence: Deadline;

  constructor(options: {
    readonly signal: AbortSignal;
    /** Milliseconds; 0 for no limit. */
    readonly timeoutMs: number;
    readonly inactivityTimeoutMs: number;
  }) {
    const { signal, timeoutMs, inactivityTimeoutMs } = options;
    this.#whole = new Deadline({ signal, ...limit('timeout', timeoutMs) });
    this.#silence = new Deadline({
      signal: this.#whole.signal,
      ...limit('inactivity', inactivityTimeoutMs),
    });
  }

  get signal(): AbortSignal {
    return this.#silence.signal;
  }

  /** Which of the clocks has run out. */
  get expired(): 'timeout' | 'inactivity' | undefined {
    if (this.#whole.hasExpired) return 'timeout';
    return this.#silence.hasExpired ? 'inactivity' : undefined;
  }

  restart(): void {
    this.#silence.restart();
  }

  close(): void {
    this.#whole.close();
    this.#silence.close();
  }
}

function limit(kind: string, milliseconds: number) {
  return { milliseconds, reason: () => new Error(`${kind}: ${milliseconds} ms`) };
}
