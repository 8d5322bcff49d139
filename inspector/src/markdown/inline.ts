import type { Inline } from './tree.ts';

const maxDepth = 8;

/** Marks and what they make of the text between them; longer ones first. */
const marks = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'strike'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
] as const;

/** The text of one block. Whatever is not closed is text. */
export function parseInline(text: string, depth = 0): readonly Inline[] {
  const found: Inline[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') found.push({ kind: 'text', text: plain });
    plain = '';
  };
  for (let at = 0; at < text.length;) {
    const piece = depth < maxDepth ? pieceAt(text, at, depth) : undefined;
    if (piece === undefined) {
      plain += text[at] === '\\' && isMark(text[at + 1]) ? text[(at += 1)] : text[at];
      at += 1;
      continue;
    }
    flush();
    found.push(piece.inline);
    at = piece.end;
  }
  flush();
  return found;
}

interface Piece {
  readonly inline: Inline;
  readonly end: number;
}

function pieceAt(text: string, at: number, depth: number): Piece | undefined {
  switch (text[at]) {
    case '`':
      return codeAt(text, at);
    case '[':
      return linkAt(text, at, depth);
    case '!':
      // A picture would be fetched from elsewhere: its name and address have to do.
      return text[at + 1] === '[' ? linkAt(text, at + 1, depth) : undefined;
    case '\n':
      return { inline: { kind: 'break' }, end: at + 1 };
    case 'h':
      return addressAt(text, at);
    case '*':
    case '_':
    case '~':
      return markedAt(text, at, depth);
    default:
      return undefined;
  }
}

function codeAt(text: string, at: number): Piece | undefined {
  const fence = /^`+/.exec(text.slice(at, at + 16))?.[0] ?? '`';
  const end = text.indexOf(fence, at + fence.length);
  if (end < 0) return undefined;
  const inner = text.slice(at + fence.length, end);
  return { inline: { kind: 'code', text: inner.trim() }, end: end + fence.length };
}

function linkAt(text: string, at: number, depth: number): Piece | undefined {
  const match = /^\[([^\][]{0,500})\]\(\s*<?([^\s()<>]{1,2000})>?(?:\s+"[^"]{0,200}")?\s*\)/.exec(
    text.slice(at, at + 3_000),
  );
  if (match === null) return undefined;
  const [whole, label = '', address = ''] = match;
  const url = safeUrl(address);
  const content = parseInline(label === '' ? address : label, depth + 1);
  const end = at + whole.length;
  // An address that no page should open is shown and not linked.
  if (url === undefined) return { inline: { kind: 'text', text: `${label} (${address})` }, end };
  return { inline: { kind: 'link', url, content }, end };
}

function addressAt(text: string, at: number): Piece | undefined {
  if (at > 0 && /[\w/]/.test(text[at - 1] ?? '')) return undefined;
  const match = /^https?:\/\/[^\s<>"'`]{1,2000}/.exec(text.slice(at, at + 2_010));
  if (match === null) return undefined;
  const address = match[0].replace(/[.,;:!?)\]}]+$/, '');
  const url = safeUrl(address);
  if (url === undefined) return undefined;
  const content: readonly Inline[] = [{ kind: 'text', text: address }];
  return { inline: { kind: 'link', url, content }, end: at + address.length };
}

function markedAt(text: string, at: number, depth: number): Piece | undefined {
  for (const [mark, kind] of marks) {
    if (!text.startsWith(mark, at)) continue;
    const start = at + mark.length;
    const end = lastOfRun(text, mark, text.indexOf(mark, start + 1));
    const isInWord = mark.includes('_') && /\w/.test(text[at - 1] ?? '');
    if (end < 0 || isInWord || /\s/.test(text[start] ?? ' ') || /\s/.test(text[end - 1] ?? ' ')) {
      continue;
    }
    const content = parseInline(text.slice(start, end), depth + 1);
    return { inline: { kind, content }, end: end + mark.length };
  }
  return undefined;
}

/** `**a *b***` closes the inner one first: of a run of marks the outer one is at its end. */
function lastOfRun(text: string, mark: string, found: number): number {
  let end = found;
  while (end >= 0 && mark.length === 2 && text.startsWith(mark, end + 1)) end += 1;
  return end;
}

function isMark(character: string | undefined): boolean {
  return character !== undefined && /[\\`*_~[\]()#>!-]/.test(character);
}

/** Only what leads to another page: no scripts, no data, no addresses within this one. */
export function safeUrl(address: string): string | undefined {
  const url = URL.parse(address);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol)
    ? url.href
    : undefined;
}
