import type { Part } from '../model.ts';

/** A part that is text and nothing else: it has neither a name nor metadata of its own. */
export type TextPart = Part & { readonly text: string };

export function isPlainText(part: Part | undefined): part is TextPart {
  return part?.text !== undefined && part.filename === undefined && part.metadata === undefined;
}

/**
 * Appends parts in place. Text continues the text before it where an append starts, so that an answer
 * that was streamed in chunks reads as one text; the parts of one event stay separate. The cost does
 * not depend on how much there is already.
 * @example
 * const parts: Part[] = [{ text: 'Hel' }];
 * appendParts(parts, [{ text: 'lo' }, { text: 'you' }]); // [{ text: 'Hello' }, { text: 'you' }]
 */
export function appendParts(parts: Part[], more: readonly Part[]): void {
  const last = parts.at(-1);
  const [first] = more;
  const joins = isPlainText(last) && isPlainText(first) && last.mediaType === first.mediaType;
  if (joins) parts[parts.length - 1] = { ...last, text: last.text + first.text };
  for (let index = joins ? 1 : 0; index < more.length; index += 1) {
    const part = more[index];
    if (part !== undefined) parts.push(part);
  }
}
