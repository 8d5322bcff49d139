import { styleText } from 'node:util';

/** Shows nothing for shorter waits. */
const delayMs = 1_000;
const everyMs = 500;

/**
 * One line on a terminal's standard error that shows what the command waits for, and for how long. It
 * appears after a second and is erased at the end. Without a terminal, prints nothing.
 *
 * The spinner of @clack/prompts can't do this: it reads the terminal, so it takes what a person types while a
 * shell waits, and it calls `process.exit(0)` on Ctrl+C, before the command has cancelled its task.
 */
export class Progress implements Disposable {
  readonly #isShown = process.stderr.isTTY;
  readonly #startedAt = performance.now();
  #text: string;
  #timer: NodeJS.Timeout | undefined;
  #isOnScreen = false;

  constructor(text: string) {
    this.#text = text;
    if (!this.#isShown) return;
    this.#timer = setTimeout(() => {
      this.#draw();
      this.#timer = setInterval(() => this.#draw(), everyMs);
      this.#timer.unref();
    }, delayMs);
    this.#timer.unref();
  }

  say(text: string): void {
    this.#text = text;
    if (this.#isOnScreen) this.#draw();
  }

  /** Erases the line before other output. */
  clear(): void {
    if (!this.#isOnScreen) return;
    process.stderr.write('\r\u001B[K');
    this.#isOnScreen = false;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.clear();
  }

  #draw(): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1_000);
    const line = `${this.#text} … ${seconds} s`;
    const shown = line.slice(0, Math.max(10, (process.stderr.columns || 80) - 1));
    process.stderr.write(`\r\u001B[K${styleText('gray', shown, { stream: process.stderr })}`);
    this.#isOnScreen = true;
  }
}
