/**
 * A signal that aborts with its parent, or when the time is over. Unlike `AbortSignal.timeout` it
 * leaves no timer behind once disposed, which counts where calls are short and many.
 */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #parent: AbortSignal | undefined;
  readonly #onParent: () => void;
  readonly #timer: { cancel(): void };

  constructor(options: {
    readonly parent?: AbortSignal | undefined;
    readonly milliseconds: number;
    /** What the signal aborts with when the time is over. */
    readonly reason: () => unknown;
    /** Whose time it is. @default the system's */
    readonly scheduler?: { after(delay: number, callback: () => void): { cancel(): void } };
  }) {
    const { parent, milliseconds, reason, scheduler = systemTimers } = options;
    const controller = new AbortController();
    this.signal = controller.signal;
    this.#parent = parent;
    this.#onParent = () => controller.abort(parent?.reason);
    this.#timer = scheduler.after(milliseconds, () => controller.abort(reason()));
    if (parent?.aborted === true) this.#onParent();
    else parent?.addEventListener('abort', this.#onParent, { once: true });
  }

  /** The time no longer counts; the parent still does. */
  lift(): void {
    this.#timer.cancel();
  }

  [Symbol.dispose](): void {
    this.lift();
    this.#parent?.removeEventListener('abort', this.#onParent);
  }
}

const systemTimers = {
  after(delay: number, callback: () => void): { cancel(): void } {
    const timer = setTimeout(callback, delay);
    return { cancel: () => clearTimeout(timer) };
  },
};
