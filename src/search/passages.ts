/** A part of a document, short enough to display or to include in a prompt. */
export interface Passage {
  /** Where the document is: a path or a URL. */
  readonly source: string;
  /** The heading above the passage; empty without one. */
  readonly title: string;
  readonly text: string;
}

/** A text with its origin. */
export interface TextDocument {
  readonly source: string;
  readonly text: string;
}

const maxCharacters = 1_000;
const heading = /^#{1,6}[ \t]+(\S.*)$/;

/**
 * Splits a document into passages: paragraphs under one heading are joined up to 1,000 characters, and
 * longer paragraphs are split at the ends of sentences. Headings are those of Markdown.
 * @example passagesOf({ source: 'a.md', text: '# Fees\n\nTransfers are free.' })[0]?.title // 'Fees'
 */
export function passagesOf({ source, text }: TextDocument): readonly Passage[] {
  const passages: Passage[] = [];
  let title = '';
  let paragraphs: string[] = [];
  const flush = (): void => {
    for (const part of joined(paragraphs)) passages.push({ source, title, text: part });
    paragraphs = [];
  };
  for (const block of text.split(/\n[ \t]*\n/)) {
    const lines: string[] = [];
    for (const line of block.split('\n')) {
      const found = heading.exec(line.trim());
      if (found === null) {
        lines.push(line);
        continue;
      }
      paragraphs.push(lines.splice(0).join('\n'));
      flush();
      title = (found[1] ?? '').replace(/[ \t#]+$/, '');
    }
    paragraphs.push(lines.join('\n'));
  }
  flush();
  return passages;
}

function joined(paragraphs: readonly string[]): readonly string[] {
  const parts: string[] = [];
  for (const paragraph of paragraphs.flatMap((each) => split(each.trim()))) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + paragraph.length + 2 <= maxCharacters) {
      parts[parts.length - 1] = `${last}\n\n${paragraph}`;
    } else parts.push(paragraph);
  }
  return parts;
}

/**
 * Splits a paragraph into pieces of at most 1,000 characters, after a sentence or a word where
 * possible.
 */
function split(paragraph: string): readonly string[] {
  const pieces: string[] = [];
  let rest = paragraph;
  while (rest.length > maxCharacters) {
    const head = rest.slice(0, maxCharacters);
    const sentence = Math.max(
      head.lastIndexOf('. '),
      head.lastIndexOf('? '),
      head.lastIndexOf('! '),
    );
    const end = sentence > maxCharacters / 2 ? sentence + 1 : head.lastIndexOf(' ');
    const at = end > maxCharacters / 4 ? end : maxCharacters;
    pieces.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return rest === '' ? pieces : [...pieces, rest];
}
