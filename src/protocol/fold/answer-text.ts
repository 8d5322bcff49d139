import { textOf } from '../content.ts';
import type { Artifact, Message } from '../model.ts';

/**
 * A change of the text of an answer: a piece that was added, or, where the agent replaced what it had
 * shown (a model call that was retried), the whole text as it is now.
 * @example
 * let shown = '';
 * for await (const { kind, text } of client.stream('Hello').changes) {
 *   shown = kind === 'added' ? shown + text : text;
 * }
 */
export interface TextChange {
  readonly kind: 'added' | 'replaced';
  readonly text: string;
}

/** The text of an answer while its artifacts arrive: each is a line of its own, as `textOf` has them. */
export class AnswerText {
  readonly #sections = new Map<string, string>();
  /** The section that was added to last. */
  #last: string | undefined;

  artifact({ artifactId, parts }: Artifact, append: boolean): TextChange | undefined {
    return this.#put(`artifact ${artifactId}`, textOf({ parts }), append);
  }

  /** A question, or what the agent said at the end. */
  message({ messageId, parts }: Pick<Message, 'messageId' | 'parts'>): TextChange | undefined {
    return this.#put(`message ${messageId}`, textOf({ parts }), false);
  }

  #put(section: string, text: string, append: boolean): TextChange | undefined {
    const before = this.#sections.get(section) ?? '';
    // An artifact that is sent whole again, longer than before, continues.
    const isAdded = append || text.startsWith(before);
    const added = append ? text : text.slice(before.length);
    this.#sections.set(section, isAdded ? before + added : text);
    if (!isAdded) {
      const shown = [...this.#sections].filter(([, each]) => each !== '');
      this.#last = shown.at(-1)?.[0];
      return { kind: 'replaced', text: shown.map(([, each]) => each).join('\n') };
    }
    if (added === '') return undefined;
    const isOther = this.#last !== undefined && this.#last !== section;
    this.#last = section;
    return { kind: 'added', text: isOther ? `\n${added}` : added };
  }
}
