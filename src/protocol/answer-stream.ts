import { LegateError } from './errors.ts';
import type { TextChange } from './fold/answer-text.ts';

/**
 * A streamed answer. Reading `text`, `changes` or `result` sends the message. All of them read the same
 * stream, once. They reject if the task fails, is rejected or is cancelled.
 * @example
 * const stream: AnswerStream<Answer> = client.stream('Tell me a tale');
 * for await (const delta of stream.text) process.stdout.write(delta);
 * const { files } = await stream.result();
 */
export class AnswerStream<Result> {
  /**
   * The text of artifacts, of a question and of the final message, as it arrives. Text that was already
   * yielded can't be withdrawn: when the agent replaces it, the whole text follows again after an empty
   * line.
   */
  readonly text: AsyncGenerator<string, void>;
  /** The text as changes, for user interfaces that can replace text that they already show. */
  readonly changes: AsyncGenerator<TextChange, void>;
  #outcome: { readonly result: Result } | { readonly error: unknown } | undefined;

  /** Reading the stream pulls `changes`, which returns the result. */
  constructor(changes: AsyncGenerator<TextChange, Result>) {
    this.changes = this.#read(changes);
    this.text = textOfChanges(this.changes);
  }

  /** Resolves with the whole answer when the stream has ended. */
  async result(): Promise<Result> {
    for await (const _ of this.changes);
    const outcome = this.#outcome;
    if (outcome === undefined) {
      throw new LegateError(
        'UNSUPPORTED_OPERATION',
        'the loop over the stream ended early, so there is no result; read the stream to its end, or call only result()',
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
