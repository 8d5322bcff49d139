import { extname } from 'node:path';

type Reader = (content: Uint8Array) => string | Promise<string>;

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['.md', markdownText],
  ['.markdown', markdownText],
  ['.txt', plainText],
  ['.text', plainText],
  ['.html', (content) => htmlText(plainText(content))],
  ['.htm', (content) => htmlText(plainText(content))],
  ['.pdf', pdfText],
]);

/** The text of a document. Rejects with the reason if the document can't be read or has no text. */
export async function documentText(name: string, content: Uint8Array): Promise<string> {
  const reader = readers.get(extname(name).toLowerCase());
  if (reader === undefined) throw new Error(`only ${[...readers.keys()].join(', ')} are read`);
  const text = (await reader(content)).replaceAll('\r\n', '\n').trim();
  if (text === '') throw new Error('it has no text');
  return text;
}

function plainText(content: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (error) {
    throw new Error('it is not UTF-8', { cause: error });
  }
  if (text.includes('\0')) throw new Error('it is not text');
  return text;
}

/** Markdown without front matter, comments, bold markers, and the addresses of links and images. */
function markdownText(content: Uint8Array): string {
  return withoutComments(plainText(content))
    .replace(/^---\r?\n[^]*?\r?\n---\r?\n/, '')
    .replaceAll(/!?\[([^\][\n]*)\]\([^()\s]*\)/g, '$1')
    .replaceAll(/(\*\*|__)(?=\S)([^*_\n]+)\1/g, '$2');
}

/** Removes comments. Takes linear time, also with unclosed comments. */
function withoutComments(text: string): string {
  let rest = '';
  let at = 0;
  for (;;) {
    const open = text.indexOf('<!--', at);
    const close = open < 0 ? -1 : text.indexOf('-->', open);
    if (close < 0) return rest + text.slice(at, open < 0 ? text.length : open);
    rest += text.slice(at, open);
    at = close + 3;
  }
}

/** Elements whose content is not page text. */
const hidden = new Set(['script', 'style', 'template', 'noscript', 'svg', 'head', 'nav']);
const headings = /^h([1-6])$/;
/** Inline elements. */
const inline = new Set(
  'a abbr b bdi bdo cite code data em i kbd mark q s samp small span strong sub sup time u var'.split(
    ' ',
  ),
);

/** The text of HTML, with headings as in Markdown. Takes linear time. */
export function htmlText(page: string): string {
  const html = withoutComments(page);
  let text = '';
  let skipped: string | undefined;
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    const end = open < 0 ? html.length : open;
    if (skipped === undefined) text += html.slice(at, end);
    if (open < 0) break;
    const close = html.indexOf('>', open);
    if (close < 0) break;
    const name = /^<\/?([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 32))?.[1]?.toLowerCase();
    const isEnd = html[open + 1] === '/';
    at = close + 1;
    if (name === undefined) continue;
    if (skipped !== undefined) {
      if (isEnd && name === skipped) skipped = undefined;
      continue;
    }
    if (hidden.has(name) && !isEnd && html[close - 1] !== '/') skipped = name;
    else if (!inline.has(name)) text += breakOf(name, isEnd);
  }
  return entities(text)
    .replaceAll(/[ \t\u00a0]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n');
}

function breakOf(name: string, isEnd: boolean): string {
  const level = headings.exec(name)?.[1];
  if (level !== undefined) return isEnd ? '\n\n' : `\n\n${'#'.repeat(Number(level))} `;
  if (name === 'li' && !isEnd) return '\n- ';
  return name === 'br' || name === 'tr' || name === 'td' || name === 'th' ? '\n' : '\n\n';
}

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  euro: '€',
  pound: '£',
  copy: '©',
  reg: '®',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
};

const entity = /&(?:#(?<decimal>\d{1,7})|#x(?<hex>[0-9a-f]{1,6})|(?<name>[a-z]{2,8}));/gi;

function entities(text: string): string {
  let plain = '';
  let at = 0;
  for (const found of text.matchAll(entity)) {
    plain += text.slice(at, found.index) + characterOf(found[0], found.groups ?? {});
    at = found.index + found[0].length;
  }
  return plain + text.slice(at);
}

function characterOf(
  whole: string,
  { decimal, hex, name }: Readonly<Record<string, string | undefined>>,
): string {
  if (name !== undefined) return named[name] ?? whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
}

/** The text of a PDF. The PDF library is loaded with the first PDF. */
async function pdfText(content: Uint8Array): Promise<string> {
  const { extractText, getDocumentProxy } = await import('unpdf');
  const document = await getDocumentProxy(Uint8Array.from(content), { verbosity: 0 });
  try {
    const { text } = await extractText(document, { mergePages: false });
    return text.join('\n\n');
  } finally {
    await document.loadingTask.destroy();
  }
}
