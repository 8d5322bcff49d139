import { Lexer, type Links, type MarkedOptions, type MarkedToken } from 'marked';

/** Line breaks are kept, as in a chat. */
const options: MarkedOptions = { gfm: true, breaks: true };

/** Limit per block: parsing emphasis takes quadratic time in its marks. */
const maximumMarks = 2_000;

/** Nested quotes and lists at the start of a line; each level costs the call stack. */
const tooDeep = /^(?: {0,3}(?:>|[-*+](?= )|\d{1,9}[.)](?= )) ?){30,}/m;

export interface MarkdownDocument {
  /** The source of each block: of a paragraph, a whole list, a table. */
  readonly blocks: readonly string[];
  /** Reference definitions: `[1]: https://...`. */
  readonly links: Links;
}

/**
 * Splits a text into its blocks. A growing text keeps all of its blocks but the last, so a block is
 * parsed once.
 */
export function readDocument(text: string): MarkdownDocument {
  const lexer = new Lexer(options);
  if (tooDeep.test(text)) return { blocks: [text], links: {} };
  const tokens = lexer.blockTokens(text.replaceAll(/\r\n?/g, '\n'), []);
  const blocks = tokens.filter(({ type }) => type !== 'space' && type !== 'def');
  return { blocks: blocks.map(({ raw }) => raw), links: lexer.tokens.links };
}

/** The tokens of one block. A block that would take long to parse is plain text. */
export function readBlock(source: string, links: Links = {}): readonly MarkedToken[] {
  const marks = source.match(/[*_~[<]/g)?.length ?? 0;
  if (marks > maximumMarks || tooDeep.test(source)) {
    const text = { type: 'text', raw: source, text: source, escaped: true };
    return [{ type: 'paragraph', raw: source, text: source, tokens: [text] }];
  }
  const lexer = new Lexer(options);
  lexer.tokens.links = links;
  // Without extensions, the lexer has no other tokens.
  return lexer.lex(source) as MarkedToken[];
}
