import { createInterface, type Interface } from 'node:readline';

/**
 * Answers the questions of an agent: first from the command line, then by asking the user at the terminal,
 * or from the lines of standard input.
 */
export class CallAnswers implements Disposable {
  readonly #given: string[];
  readonly #readsInput: boolean;
  #input: { readonly reader: Interface; readonly lines: AsyncIterator<string> } | undefined;

  /** `readsInput`: false if standard input contains the message. */
  constructor(given: readonly string[], readsInput: boolean) {
    this.#given = [...given];
    this.#readsInput = readsInput;
  }

  /** Undefined when there is no answer: the user cancels, or the input ends. */
  async next(question: string, signal: AbortSignal): Promise<string | undefined> {
    const given = this.#given.shift();
    const isPerson = process.stdin.isTTY && process.stderr.isTTY;
    if (given === undefined && this.#readsInput && isPerson) return askPerson(question, signal);
    console.error(question);
    if (given !== undefined || !this.#readsInput) return given;
    if (this.#input === undefined) {
      const reader = createInterface({ input: process.stdin, signal });
      this.#input = { reader, lines: reader[Symbol.asyncIterator]() };
    }
    const line = await this.#input.lines.next();
    return line.done === true ? undefined : line.value;
  }

  [Symbol.dispose](): void {
    this.#input?.reader.close();
  }
}

async function askPerson(question: string, signal: AbortSignal): Promise<string | undefined> {
  // Loaded on demand: needed only at a terminal.
  const { isCancel, text } = await import('@clack/prompts');
  const answer = await text({ message: question, signal, output: process.stderr });
  return isCancel(answer) ? undefined : answer;
}
