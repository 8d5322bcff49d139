import { Deadline } from '../../../time/index.ts';

/**
 * When a call is left to itself: after a time, but not before the task there is known, for without it
 * nobody could ask for it later.
 */
export class Detachment implements Disposable {
  readonly #deadline: Deadline;
  readonly #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #isPossible = false;
  #isDetached = false;

  /** `seconds` undefined: never. */
  constructor(seconds: number | undefined, outer: AbortSignal) {
    this.#deadline = new Deadline({ signal: outer });
    if (seconds === undefined) return;
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

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  get isDetached(): boolean {
    return this.#isDetached;
  }

  #detach(): void {
    if (!this.#isDue || !this.#isPossible || this.signal.aborted) return;
    this.#isDetached = true;
    this.#deadline.abort(new Error('left to itself'));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#deadline.close();
  }
}
