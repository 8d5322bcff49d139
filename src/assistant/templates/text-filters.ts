import { argument, type Call, type Operation, toNumber } from './operation.ts';
import { formatPercent } from './python-format.ts';
import { isTruthy, toText, type Value } from './value.ts';

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}

/** Without the characters at both ends: white space unless others are named. */
export function strip(value: Value, characters: Value, ends: 'both' | 'start' | 'end'): string {
  const text = toText(value);
  if (typeof characters !== 'string') {
    if (ends === 'both') return text.trim();
    return ends === 'start' ? text.trimStart() : text.trimEnd();
  }
  const stripped = new Set(characters.split(''));
  let from = 0;
  let to = text.length;
  if (ends !== 'end') while (from < to && stripped.has(text.charAt(from))) from += 1;
  if (ends !== 'start') while (to > from && stripped.has(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

export function replace(value: Value, call: Call): string {
  const text = toText(value);
  const old = toText(call.positional[0]);
  const by = toText(call.positional[1]);
  const most = toNumber(argument(call, 2, 'count'), -1);
  const pieces = old === '' ? ['', ...Array.from(text), ''] : text.split(old);
  // Before the text is made, so that no template can ask for more memory than there is.
  call.spend(text.length + pieces.length * by.length);
  if (most < 0 || pieces.length - 1 <= most) return pieces.join(by);
  return [...pieces.slice(0, most), pieces.slice(most).join(old)].join(by);
}

export function pad(value: Value, call: Call, side: 'left' | 'right' | 'both', fill = ' '): string {
  const text = toText(value);
  const width = Math.max(
    text.length,
    toNumber(argument(call, 0, 'width'), side === 'both' ? 80 : 0),
  );
  call.spend(width);
  if (side === 'left') return text.padEnd(width, fill);
  if (side === 'right') return text.padStart(width, fill);
  const space = width - text.length;
  const before = Math.floor(space / 2) + (space & width & 1);
  return text.padStart(text.length + before, fill).padEnd(width, fill);
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escape: Operation = (value) =>
  toText(value).replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? character);

function indent(value: Value, call: Call): string {
  const width = argument(call, 0, 'width') ?? 4;
  const prefix =
    typeof width === 'string'
      ? width
      : ' '.repeat(Math.min(1_000, Math.max(0, toNumber(width, 4))));
  const isFirst = isTruthy(argument(call, 1, 'first'));
  const isBlank = isTruthy(argument(call, 2, 'blank'));
  const lines = toText(value).split('\n');
  call.spend(lines.length * prefix.length);
  return lines
    .map((line, at) => ((at > 0 || isFirst) && (line !== '' || isBlank) ? prefix + line : line))
    .join('\n');
}

function truncate(value: Value, call: Call): string {
  const text = toText(value);
  const length = toNumber(argument(call, 0, 'length'), 255);
  const end = toText(argument(call, 2, 'end') ?? '...');
  if (text.length <= length + toNumber(argument(call, 3, 'leeway'), 5)) return text;
  const cut = text.slice(0, Math.max(0, length - end.length));
  const space = cut.lastIndexOf(' ');
  if (isTruthy(argument(call, 1, 'killwords')) || space === -1) return cut + end;
  return cut.slice(0, space) + end;
}

/** Words begin behind white space, `-` and opening brackets only. */
const title: Operation = (value) =>
  toText(value).replace(/[^-\s({[<]+/g, (word) => capitalize(word));

const urlencode: Operation = (value) =>
  encodeURIComponent(toText(value).toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2F', '/');

/** Filters that make a text. */
export const textFilters: Readonly<Record<string, Operation>> = {
  capitalize: (value) => capitalize(toText(value)),
  center: (value, call) => pad(value, call, 'both'),
  e: escape,
  escape,
  format: (value, call) => formatPercent(toText(value), call),
  indent,
  lower: (value) => toText(value).toLowerCase(),
  replace,
  safe: (value) => value,
  string: (value) => toText(value),
  title,
  trim: (value, call) => strip(value, argument(call, 0, 'chars'), 'both'),
  truncate,
  upper: (value) => toText(value).toUpperCase(),
  urlencode,
  wordcount: (value) => toText(value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
};
