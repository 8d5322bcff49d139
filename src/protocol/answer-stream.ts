import { LegateError } from './errors.ts';
import type { TextChange } from './fold/answer-text.ts';

/**
 * A streamed answer. Reading `text`, `changes` or `result` sends the message; all of them read
 * the same stream, once. They reject if the task fails, is rejected or is cancelled.
 * @example
 * const stream: AnswerStream<Answer> = client.stream('Tell me a tale');
 * for await (const delta of stream.text) process.stdout.write(delta);
 * const { files } = await stream.result();
 */
export class AnswerStream<Result> {
  /**
   * The text of artifacts, of a question and of the end, as it arrives. Text that the agent replaced
   * can't be taken back: the whole text follows again, after an empty line.
   */
  readonly text: AsyncGenerator<string, void>;
  /** The same as changes, for a page that can show a replaced text in place of the old one. */
  readonly changes: AsyncGenerator<TextChange, void>;
  #outcome: { readonly result: Result } | { readonly error: unknown } | undefined;

  /** `changes` is pulled when the stream is read, and returns the result. */
  constructor(changes: AsyncGenerator<TextChange, Result>) {
    this.changes = this.#read(changes);
    this.text = textOfChanges(this.changes);
  }

  /** The whole answer, once it is there. */
  async result(): Promise<Result> {
    for await (const _ of this.changes);
    const outcome = this.#outcome;
    if (outcome === undefined) {
      throw new LegateError(
        'UNSUPPORTED_OPERATION',
        'the stream was left before its end, so there is no result; read it to its end, or call result() alone',
      );
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  async *#read(changes: AsyncGenerator<TextChange, Result>): AsyncGenerator<TextChange, void> {
    try {
      const result = yield* changes;
      this.#outcome = { result };
    } catch (error) {
      this.#outcome = { error };
      throw error;
    }
  }
}

async function* textOfChanges(changes: AsyncIterable<TextChange>): AsyncGenerator<string, void> {
  for await (const { kind, text } of changes) yield kind === 'added' ? text : `\n\n${text}`;
}
