/**
 * When a call is left to itself: after a time, but not before the task there is known, for without it
 * nobody could ask for it later.
 */
export class Detachment implements Disposable {
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isDue = false;
  #isPossible = false;

  constructor(seconds: number, outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#own.signal]);
    const milliseconds = Math.min(seconds * 1000, 2 ** 31 - 1);
    this.#timer = setTimeout(() => {
      this.#isDue = true;
      this.#detach();
    }, milliseconds);
  }

  /** The task is known. */
  allow(): void {
    this.#isPossible = true;
    this.#detach();
  }

  get isDetached(): boolean {
    return this.#own.signal.aborted;
  }

  #detach(): void {
    if (this.#isDue && this.#isPossible) this.#own.abort(new Error('left to itself'));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
