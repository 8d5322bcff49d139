/**
 * A signal that aborts with its parent, or when the time is over. Unlike `AbortSignal.timeout` it
 * leaves no timer behind once disposed, which counts where calls are short and many.
 */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #parent: AbortSignal | undefined;
  readonly #onParent: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(options: {
    readonly parent?: AbortSignal | undefined;
    readonly milliseconds: number;
    /** What the signal aborts with when the time is over. */
    readonly reason: () => unknown;
  }) {
    const { parent, milliseconds, reason } = options;
    const controller = new AbortController();
    this.signal = controller.signal;
    this.#parent = parent;
    this.#onParent = () => controller.abort(parent?.reason);
    this.#timer = setTimeout(() => controller.abort(reason()), milliseconds);
    if (parent?.aborted === true) this.#onParent();
    else parent?.addEventListener('abort', this.#onParent, { once: true });
  }

  /** The time no longer counts; the parent still does. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.lift();
    this.#parent?.removeEventListener('abort', this.#onParent);
  }
}
