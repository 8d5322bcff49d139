import type { Part } from '../model.ts';

/** A part with only text: it has neither a file name nor metadata. */
export type TextPart = Part & { readonly text: string };

export function isPlainText(part: Part | undefined): part is TextPart {
  return part?.text !== undefined && part.filename === undefined && part.metadata === undefined;
}

/**
 * Appends parts in place. The first appended text continues a text before it, so that an answer that was
 * streamed in chunks is one text. The other parts of an event stay separate. The cost does not depend on
 * the number of existing parts.
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
