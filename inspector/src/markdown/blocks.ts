import { parseInline } from './inline.ts';
import type { Block, Inline } from './tree.ts';

const maxDepth = 6;

/**
 * Cuts a text into the texts of its blocks: at blank lines outside of code. A text that grows keeps
 * all of its blocks but the last, so what was read once need not be read again.
 */
export function splitBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const mark = /^\s{0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
    }
    if (line.trim() === '' && fence === undefined) {
      if (lines.length > 0) blocks.push(lines.join('\n'));
      lines = [];
    } else lines.push(line);
  }
  if (lines.length > 0) blocks.push(lines.join('\n'));
  return blocks;
}

/** The blocks that stand in a text. */
export function parseBlocks(text: string, depth = 0): readonly Block[] {
  if (depth > maxDepth) return [{ kind: 'paragraph', content: [{ kind: 'text', text }] }];
  const lines = text.split(/\r?\n/);
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    if (line.trim() === '') {
      at += 1;
      continue;
    }
    const [block, next] =
      codeBlock(lines, at) ??
      headingOrRule(line, at) ??
      quote(lines, at, depth) ??
      list(lines, at, depth) ??
      table(lines, at) ??
      paragraph(lines, at);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

type Found = readonly [Block, number] | undefined;

function codeBlock(lines: readonly string[], at: number): Found {
  const [, fence, language = ''] = /^\s{0,3}(```+|~~~+)\s*([\w+-]*)/.exec(lines[at] ?? '') ?? [];
  if (fence === undefined) return undefined;
  const end = lines.findIndex((line, index) => index > at && line.trim().startsWith(fence));
  const last = end < 0 ? lines.length : end;
  const text = lines.slice(at + 1, last).join('\n');
  return [{ kind: 'code', language, text }, last + 1];
}

function headingOrRule(line: string, at: number): Found {
  const heading = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) {
    const [, marks = '', text = ''] = heading;
    return [{ kind: 'heading', level: marks.length, content: parseInline(text) }, at + 1];
  }
  return /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line) ? [{ kind: 'rule' }, at + 1] : undefined;
}

function quote(lines: readonly string[], at: number, depth: number): Found {
  const end = endOf(lines, at, (line) => /^\s{0,3}>/.test(line));
  if (end === at) return undefined;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s{0,3}> ?/, ''));
  return [{ kind: 'quote', blocks: parseBlocks(inner.join('\n'), depth + 1) }, end];
}

const point = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

function list(lines: readonly string[], at: number, depth: number): Found {
  const first = point.exec(lines[at] ?? '');
  if (first === null) return undefined;
  const [, indent = '', mark = ''] = first;
  const isNumbered = /\d/.test(mark);
  const items: string[][] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    const match = point.exec(line);
    const isOwn = match !== null && (match[1] ?? '').length <= indent.length + 1;
    if (isOwn && /\d/.test(match[2] ?? '') !== isNumbered) break;
    if (isOwn) items.push([match[3] ?? '']);
    else if (/^\s+\S/.test(line)) items.at(-1)?.push(line.replace(/^\s{1,4}/, ''));
    else break;
  }
  const start = isNumbered ? Number.parseInt(mark, 10) : undefined;
  const parsed = items.map((item) => parseBlocks(item.join('\n'), depth + 1));
  return [{ kind: 'list', start, items: parsed }, next];
}

function table(lines: readonly string[], at: number): Found {
  const isRuled = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$/.test(lines[at + 1] ?? '');
  if (!isRuled || !(lines[at] ?? '').includes('|')) return undefined;
  const end = endOf(lines, at + 2, (line) => line.includes('|'));
  const rows = lines.slice(at + 2, end).map(cells);
  return [{ kind: 'table', head: cells(lines[at] ?? ''), rows }, end];
}

function cells(line: string): readonly (readonly Inline[])[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split('|').map((cell) => parseInline(cell.trim()));
}

function paragraph(lines: readonly string[], at: number): readonly [Block, number] {
  const isOther = (line: string): boolean =>
    line.trim() === '' || /^\s{0,3}(?:```|~~~|#{1,6}\s|>)/.test(line) || point.test(line);
  const end = Math.max(
    at + 1,
    endOf(lines, at + 1, (line) => !isOther(line)),
  );
  return [{ kind: 'paragraph', content: parseInline(lines.slice(at, end).join('\n')) }, end];
}

/** The first line from `at` on that does not belong. */
function endOf(lines: readonly string[], at: number, belongs: (line: string) => boolean): number {
  let end = at;
  while (end < lines.length && belongs(lines[end] ?? '')) end += 1;
  return end;
}
