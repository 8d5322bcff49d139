import { LegateError } from '../protocol/index.ts';

/** The longest that a timer can be set for; setTimeout takes more for 1 ms. */
const longestTimer = 2 ** 31 - 1;

/**
 * A signal that aborts when its parent does, or when its timer runs out. The timer can be set anew
 * as often as needed: a deadline sets it once, a stream with every byte that arrives.
 * Close it when the work is over, or the parent keeps it.
 */
export class Lifeline {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(parent?: AbortSignal) {
    this.#parent = parent;
    if (parent?.aborted === true) this.#controller.abort(parent.reason);
    else parent?.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Replaces the timer; 0 or less takes it away. Once closed, there is none any more. */
  expireIn(ms: number, reason: () => Error): void {
    clearTimeout(this.#timer);
    if (ms <= 0 || this.#isClosed) return;
    this.#timer = setTimeout(() => this.#controller.abort(reason()), Math.min(ms, longestTimer));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#parent?.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => {
    clearTimeout(this.#timer);
    this.#controller.abort(this.#parent?.reason);
  };
}

/** Runs something that must be answered in time; 0 for no limit. */
export async function within<T>(
  limit: {
    readonly what: string;
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
  },
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const line = new Lifeline(limit.signal);
  line.expireIn(limit.timeoutMs, () => timedOut(`${limit.what} was not answered`, limit.timeoutMs));
  try {
    return await run(line.signal);
  } finally {
    line.close();
  }
}

export function timedOut(what: string, ms: number): LegateError {
  return new LegateError('REQUEST_TIMEOUT', `${what} within ${ms} ms`);
}
