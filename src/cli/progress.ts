import { stripVTControlCharacters, styleText } from 'node:util';

/** Shows nothing for shorter waits. */
const delayMs = 1_000;
const everyMs = 500;

const onScreen = new Set<Progress>();
/** Whether the last output on the terminal ended its line. Drawing would erase an unfinished line. */
let isLineEnded = true;
/** Writes to the terminal without triggering `watchOutput`. */
let draw: ((text: string) => void) | undefined;

function erase(progress: Progress): void {
  if (onScreen.delete(progress)) draw?.('\r\u001B[K');
}

/** Makes other output on the terminal erase the line first. The next line is drawn below that output. */
function watchOutput(): (text: string) => void {
  const write = process.stderr.write.bind(process.stderr);
  for (const stream of [process.stdout, process.stderr].filter(({ isTTY }) => isTTY)) {
    // oxlint-disable-next-line typescript/unbound-method -- called with the stream below
    stream.write = new Proxy(stream.write, {
      apply(target, self, args: Parameters<typeof write>) {
        onScreen.forEach(erase);
        const shown = stripVTControlCharacters(String(args[0]));
        if (shown !== '') isLineEnded = shown.endsWith('\n');
        return Reflect.apply(target, self, args);
      },
    });
  }
  return (text) => void write(text);
}

/**
 * One line on a terminal's standard error that shows what the command waits for, and for how long. It
 * appears after a second, unless another line is unfinished, and is erased before other output and at the end.
 * Without a terminal, prints nothing.
 *
 * The spinner of @clack/prompts can't do this. It reads the terminal, so it consumes input of the user while
 * a shell waits, and it calls `process.exit(0)` on Ctrl+C, before the command has cancelled its task.
 */
export class Progress implements Disposable {
  readonly #isShown = process.stderr.isTTY;
  readonly #startedAt = performance.now();
  #text: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(text: string) {
    this.#text = text;
    if (!this.#isShown) return;
    draw ??= watchOutput();
    this.#timer = setTimeout(() => {
      this.#draw();
      this.#timer = setInterval(() => this.#draw(), everyMs);
      this.#timer.unref();
    }, delayMs);
    this.#timer.unref();
  }

  say(text: string): void {
    this.#text = text;
    if (onScreen.has(this)) this.#draw();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    erase(this);
  }

  #draw(): void {
    if (!isLineEnded) return;
    const seconds = Math.round((performance.now() - this.#startedAt) / 1_000);
    const line = `${this.#text} … ${seconds} s`;
    const shown = line.slice(0, Math.max(10, (process.stderr.columns || 80) - 1));
    draw?.(`\r\u001B[K${styleText('gray', shown, { stream: process.stderr })}`);
    onScreen.add(this);
  }
}
