import type { MarkedToken, Token, Tokens } from 'marked';
import { type ComponentChildren, h } from 'preact';
import { decodeEntities } from './entities.ts';
import { safeUrl } from './safe-url.ts';

/** Deeper quotes and lists are shown as source text. */
const maximumDepth = 8;

/** Markdown tokens as elements, never as markup: HTML in the text is shown as text. */
export function elementsOf(tokens: readonly Token[] = [], depth = 0): ComponentChildren[] {
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
          'aria-level': token.depth + 2,
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
      // An image would load from another server: shows its name and URL instead.
      return link(token.href, [decodeEntities(token.text || token.href)]);
    case 'escape':
      return token.text;
    case 'text': {
      const text = token.tokens === undefined ? [plain(token)] : inner(token.tokens);
      // In a list or as its own block it stands for a paragraph.
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
