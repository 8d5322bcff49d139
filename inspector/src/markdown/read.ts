import { Lexer, type Links, type MarkedOptions, type MarkedToken } from 'marked';

/** Agents write a line break where they want one, as in a chat. */
const options: MarkedOptions = { gfm: true, breaks: true };

/** Of one block: reading emphasis takes quadratic time in its marks. */
const maximumMarks = 2_000;

/** Quotes and lists within each other at the start of a line; each level costs the call stack. */
const tooDeep = /^(?: {0,3}(?:>|[-*+](?= )|\d{1,9}[.)](?= )) ?){30,}/m;

export interface MarkdownDocument {
  /** The source of each block: of a paragraph, a whole list, a table. */
  readonly blocks: readonly string[];
  /** Addresses that stand apart from their links: `[1]: https://...`. */
  readonly links: Links;
}

/**
 * Cuts a text into its blocks. A text that grows keeps all of its blocks but the last, so what was
 * read once need not be read again.
 */
export function readDocument(text: string): MarkdownDocument {
  const lexer = new Lexer(options);
  if (tooDeep.test(text)) return { blocks: [text], links: {} };
  const tokens = lexer.blockTokens(text.replaceAll(/\r\n?/g, '\n'), []);
  const blocks = tokens.filter(({ type }) => type !== 'space' && type !== 'def');
  return { blocks: blocks.map(({ raw }) => raw), links: lexer.tokens.links };
}

/** What one block says. A block that would take long to read is a plain text. */
export function readBlock(source: string, links: Links = {}): readonly MarkedToken[] {
  const marks = source.match(/[*_~[<]/g)?.length ?? 0;
  if (marks > maximumMarks || tooDeep.test(source)) {
    const text = { type: 'text', raw: source, text: source, escaped: true };
    return [{ type: 'paragraph', raw: source, text: source, tokens: [text] }];
  }
  const lexer = new Lexer(options);
  lexer.tokens.links = links;
  // Without extensions of the lexer there are no other tokens.
  return lexer.lex(source) as MarkedToken[];
}
