import {
  Lexer,
  type Links,
  type MarkedOptions,
  type MarkedToken,
  type Token,
  type Tokens,
} from 'marked';
import { type ComponentChildren, h } from 'preact';
import { safeUrl } from './safe-url.ts';

/** Keeps line breaks, as in a chat. */
const options: MarkedOptions = { gfm: true, breaks: true };

/** Limit per block: parsing emphasis takes quadratic time in its marks. */
const maximumMarks = 2_000;

/** Matches nested quotes and lists at the start of a line; each level takes a call stack frame. */
const tooDeep = /^(?: {0,3}(?:>|[-*+](?= )|\d{1,9}[.)](?= )) ?){30,}/m;

export interface MarkdownDocument {
  /** The source of each block: a paragraph, a whole list, a table. */
  readonly blocks: readonly string[];
  /** Reference definitions: `[1]: https://...`. */
  readonly links: Links;
}

/**
 * Splits a text into blocks. All blocks of a growing text except the last are stable, so each block is
 * parsed once.
 */
export function readDocument(text: string): MarkdownDocument {
  const lexer = new Lexer(options);
  if (tooDeep.test(text)) return { blocks: [text], links: {} };
  const tokens = lexer.blockTokens(text.replaceAll(/\r\n?/g, '\n'), []);
  const blocks = tokens.filter(({ type }) => type !== 'space' && type !== 'def');
  return { blocks: blocks.map(({ raw }) => raw), links: lexer.tokens.links };
}

/** Parses one block. A block that would take long to parse is returned as plain text. */
export function readBlock(source: string, links: Links = {}): readonly Token[] {
  const marks = source.match(/[*_~[<]/g)?.length ?? 0;
  if (marks > maximumMarks || tooDeep.test(source)) {
    const text = { type: 'text', raw: source, text: source, escaped: true };
    return [{ type: 'paragraph', raw: source, text: source, tokens: [text] }];
  }
  const lexer = new Lexer(options);
  lexer.tokens.links = links;
  return lexer.lex(source);
}

/** Deeper quotes and lists are shown as source text. */
const maximumDepth = 8;

/** Converts Markdown tokens to elements, never to markup: HTML in the text is shown as text. */
export function elementsOf(tokens: readonly Token[] = [], depth = 0): ComponentChildren[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without extensions, the lexer has no other tokens
  return tokens.map((token) => element(token as MarkedToken, depth));
}

function element(token: MarkedToken, depth: number): ComponentChildren {
  if (depth > maximumDepth) return token.raw;
  const inner = (tokens?: readonly Token[]) => elementsOf(tokens, depth + 1);
  switch (token.type) {
    case 'paragraph':
      return h('p', {}, inner(token.tokens));
    case 'heading':
      return h(
        'p',
        {
          class: `heading level-${token.depth}`,
          role: 'heading',
          // The same level for all: texts start at any depth, and a page must not skip a level.
          'aria-level': 3,
        },
        inner(token.tokens),
      );
    case 'code':
      return h(
        'pre',
        { tabIndex: 0, 'aria-label': token.lang?.split(/\s/)[0] || 'code' },
        h('code', {}, token.text),
      );
    case 'blockquote':
      return h('blockquote', {}, inner(token.tokens));
    case 'list': {
      const items = token.items.map((item) => h('li', {}, inner(item.tokens)));
      return token.ordered ? h('ol', { start: token.start || 1 }, items) : h('ul', {}, items);
    }
    case 'list_item':
      return inner(token.tokens);
    case 'checkbox':
      return h('input', {
        type: 'checkbox',
        checked: token.checked,
        disabled: true,
        'aria-label': token.checked ? 'done' : 'open',
      });
    case 'table':
      return table(token, depth);
    case 'hr':
      return h('hr', {});
    case 'br':
      return h('br', {});
    case 'html':
      return token.block ? h('p', {}, token.raw.trimEnd()) : token.raw;
    case 'strong':
    case 'em':
    case 'del':
      return h(token.type, {}, inner(token.tokens));
    case 'codespan':
      return h('code', {}, token.text);
    case 'link':
      return link(token.href, inner(token.tokens));
    case 'image':
      // An image would load from another server, so a link with its name is shown instead.
      return link(token.href, [decodeEntities(token.text || token.href)]);
    case 'escape':
      return token.text;
    case 'text': {
      const text = token.tokens === undefined ? [plain(token)] : inner(token.tokens);
      // In a list, or as its own block, it is a paragraph.
      return token.tokens === undefined ? text : h('p', {}, text);
    }
    case 'space':
    case 'def':
      return null;
  }
}

function plain({ text, escaped }: Tokens.Text): string {
  return escaped === true ? text : decodeEntities(text);
}

/** A URL that is unsafe to open is shown as text. */
function link(address: string, content: ComponentChildren[]): ComponentChildren {
  const url = safeUrl(decodeEntities(address));
  if (url === undefined) return [...content, ` (${address})`];
  return h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, content);
}

function table({ header, rows }: Tokens.Table, depth: number): ComponentChildren {
  const row = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]) =>
    h(
      'tr',
      {},
      cells.map(({ tokens, align }) =>
        h(
          tag,
          align === null ? {} : { style: { textAlign: align } },
          elementsOf(tokens, depth + 1),
        ),
      ),
    );
  return h(
    'div',
    { class: 'markdown-table', tabIndex: 0, role: 'region', 'aria-label': 'Table' },
    h('table', {}, [
      h('thead', {}, row('th', header)),
      h(
        'tbody',
        {},
        rows.map((cells) => row('td', cells)),
      ),
    ]),
  );
}

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '\u00a9',
  hellip: '\u2026',
  mdash: '\u2014',
  ndash: '\u2013',
  rarr: '\u2192',
  larr: '\u2190',
  euro: '\u20ac',
};

/** Decodes `&lt;` and `&#60;` to `<`. Only the common entities; there are 2,125 more. */
function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (written, decimal?: string, hex?: string, name = '') => {
      if (name !== '') return (Object.hasOwn(named, name) && named[name]) || written;
      const code = Number.parseInt(decimal ?? hex ?? '', decimal === undefined ? 16 : 10);
      const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
      return isCharacter ? String.fromCodePoint(code) : '\ufffd';
    },
  );
}
