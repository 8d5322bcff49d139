import { textOf } from '../content.ts';
import type { Artifact, Message } from '../model.ts';

/**
 * A change of an answer's text: a piece that was added, or the whole current text, if the agent replaced
 * text that it had sent (for instance when it retried a model call).
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

/**
 * The text of an answer while its artifacts arrive. As in `textOf`, each artifact is a line of its own.
 */
export class AnswerText {
  readonly #sections = new Map<string, string>();
  /** The section that the last change added to. */
  #last: string | undefined;

  artifact({ artifactId, parts }: Artifact, append: boolean): TextChange | undefined {
    return this.#put(`artifact ${artifactId}`, textOf({ parts }), append);
  }

  /** A question, or the final message of the agent. */
  message({ messageId, parts }: Pick<Message, 'messageId' | 'parts'>): TextChange | undefined {
    return this.#put(`message ${messageId}`, textOf({ parts }), false);
  }

  #put(section: string, text: string, append: boolean): TextChange | undefined {
    const before = this.#sections.get(section) ?? '';
    // An artifact that is sent again as a whole, and longer than before, counts as continued.
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
