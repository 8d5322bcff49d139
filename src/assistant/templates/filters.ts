import { escapeMarkup, isJsonList, isJsonObject, type JsonValue } from '../../protocol/index.ts';
import { formatPercent } from './python-format.ts';
import {
  KeyedList,
  argument,
  attributeOf,
  type Call,
  isTruthy,
  type Operation,
  order,
  tests,
  toList,
  toNumber,
  toText,
  Tuple,
  type Value,
} from './value.ts';

/** Cost of comparing an item by its text, in steps of the renderer. */
const textCost = 5;

/** The sort key of items: an attribute or the item itself, case-insensitive by default. */
function keyOf(attribute: Value, caseSensitive: Value): (item: JsonValue) => Value {
  const ignoreCase = !isTruthy(caseSensitive);
  return (item) => {
    const by = attribute === undefined ? item : attributeOf(item, attribute);
    return ignoreCase && typeof by === 'string' ? by.toLowerCase() : by;
  };
}

/** Stable sort. Values that can't be compared count as equal. */
function sorted<T>(list: readonly T[], key: (item: T) => Value, reverse: Value): T[] {
  const sign = isTruthy(reverse) ? -1 : 1;
  return list
    .map((item) => ({ item, key: key(item) }))
    .sort((left, right) => sign * (order(left.key, right.key) ?? 0))
    .map(({ item }) => item);
}

const sort: Operation = (value, call) =>
  sorted(
    toList(value),
    keyOf(argument(call, 2, 'attribute'), argument(call, 1, 'case_sensitive')),
    argument(call, 0, 'reverse'),
  );

const dictsort: Operation = (value, call) => {
  const key = keyOf(
    toText(argument(call, 1, 'by')) === 'value' ? 1 : 0,
    argument(call, 0, 'case_sensitive'),
  );
  return sorted(pairs(value), key, argument(call, 2, 'reverse'));
};

function groupby(value: Value, call: Call): Value {
  const key = keyOf(argument(call, 0, 'attribute'), argument(call, 2, 'case_sensitive') ?? true);
  const fallback = argument(call, 1, 'default');
  const groups = new Map<string, { key: Value; items: JsonValue[] }>();
  call.spend(toList(value).length * textCost);
  for (const item of toList(value)) {
    const by = key(item) ?? fallback;
    const name = JSON.stringify(by ?? null);
    const group = groups.get(name) ?? { key: by, items: [] };
    group.items.push(item);
    groups.set(name, group);
  }
  return sorted([...groups.values()], (group) => orderable(group.key), false).map((group) =>
    Tuple.make([group.key ?? null, group.items], ['grouper', 'list']),
  );
}

/** Booleans sort as 0 and 1. */
function orderable(value: Value): Value {
  return typeof value === 'boolean' ? Number(value) : value;
}

const unique: Operation = (value, call) => {
  const key = keyOf(argument(call, 1, 'attribute'), argument(call, 0, 'case_sensitive'));
  const seen = new Set<string>();
  call.spend(toList(value).length * textCost);
  return toList(value).filter((item) => {
    const text = JSON.stringify(key(item) ?? null);
    return !seen.has(text) && seen.add(text);
  });
};

/**
 * The filters `select`, `reject` and `selectattr`, `rejectattr`: keep the items that pass, or fail, a
 * test.
 */
function select(keep: boolean, byAttribute: boolean): Operation {
  return (value, call) => {
    const [first, second, ...rest] = call.positional;
    const name = byAttribute ? second : first;
    const test = name === undefined ? isTruthy : tests[toText(name)];
    if (test === undefined) throw new RangeError(`no test named ${toText(name)}`);
    const operand = byAttribute ? rest[0] : second;
    const list = toList(value);
    // The test `in` searches its operand for each item.
    if (typeof operand === 'object' || typeof operand === 'string') {
      call.spend(list.length * toList(operand).length);
    }
    return list.filter((item) => {
      const subject = byAttribute ? attributeOf(item, first) : item;
      return test(subject, operand) === keep;
    });
  };
}

function extreme(sign: 1 | -1): Operation {
  return (value, call) => {
    const key = keyOf(argument(call, 1, 'attribute'), argument(call, 0, 'case_sensitive'));
    return toList(value).reduce<Value>(
      (best, item) =>
        best === undefined || order(key(item), key(best ?? null)) === sign ? item : best,
      undefined,
    );
  };
}

function map(value: Value, call: Call): Value {
  const attribute = call.named.get('attribute');
  if (attribute !== undefined) {
    const fallback = call.named.get('default') ?? null;
    return toList(value).map((item) => attributeOf(item, attribute) ?? fallback);
  }
  const name = toText(call.positional[0]);
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined;
  if (filter === undefined) throw new RangeError('map needs attribute= or the name of a filter');
  const rest = { ...call, positional: call.positional.slice(1) };
  return toList(value).map((item) => {
    const result = filter(item, rest) ?? null;
    call.spend(typeof result === 'string' ? result.length : 1);
    return result;
  });
}

const batch: Operation = (value, call) => {
  const size = Math.max(1, toNumber(argument(call, 0, 'linecount'), 1));
  const list = toList(value);
  const fill = argument(call, 1, 'fill_with');
  const rows = Array.from({ length: Math.ceil(list.length / size) }, (_, at) =>
    list.slice(at * size, (at + 1) * size),
  );
  if (fill === undefined || rows.length === 0) return rows;
  call.spend(size);
  return rows.map((row) => [...row, ...Array.from({ length: size - row.length }, () => fill)]);
};

const slice: Operation = (value, call) => {
  const list = toList(value);
  const count = Math.min(10_000, Math.max(1, toNumber(argument(call, 0, 'slices'), 1)));
  const size = Math.floor(list.length / count);
  const longer = list.length % count;
  const start = (at: number) => at * size + Math.min(at, longer);
  return Array.from({ length: count }, (_, at) => list.slice(start(at), start(at + 1)));
};

const join: Operation = (value, call) => {
  const attribute = argument(call, 1, 'attribute');
  const list = toList(value).map((item) =>
    toText(attribute === undefined ? item : attributeOf(item, attribute)),
  );
  const separator = toText(argument(call, 0, 'd'));
  call.spend(list.length * separator.length);
  return list.join(separator);
};

/**
 * The filter `round`. Like Python, `common` rounds the exact binary value (2.675 is slightly less), and
 * an exact half to the even neighbour.
 */
const round: Operation = (value, call) => {
  const digits = Math.min(15, Math.max(-15, toNumber(argument(call, 0, 'precision'), 0)));
  const method = toText(argument(call, 1, 'method')) || 'common';
  const number = toNumber(value, 0);
  if (method === 'common') return nearest(number, digits);
  const operation = { floor: Math.floor, ceil: Math.ceil }[method];
  if (operation === undefined) throw new RangeError('round knows common, floor and ceil');
  return operation(number * 10 ** digits) / 10 ** digits;
};

function nearest(number: number, digits: number): number {
  if (Math.abs(number) >= 1e21) return number;
  if (digits < 0) return nearest(number * 10 ** digits, 0) / 10 ** digits;
  const rounded = Number(number.toFixed(digits));
  const isNearHalf = Math.abs(((Math.abs(number) * 10 ** digits) % 1) - 0.5) < 1e-6;
  if (!isNearHalf) return rounded;
  const behind = number.toFixed(100).split('.')[1]?.slice(digits) ?? '';
  if (!/^50*$/.test(behind)) return rounded;
  const last = Number(Math.abs(rounded).toFixed(digits).at(-1));
  // `toFixed` rounded the half away from zero to an odd digit: take the other neighbour.
  return last % 2 === 0
    ? rounded
    : Number((rounded - Math.sign(number) * 10 ** -digits).toFixed(digits));
}

const length: Operation = (value) => toList(value).length;
const defaultTo: Operation = (value, call) => {
  const alsoFalse = isTruthy(argument(call, 1, 'boolean'));
  const isMissing = alsoFalse ? !isTruthy(value) : value === undefined;
  return isMissing ? (argument(call, 0, 'default_value') ?? '') : value;
};

export function pairs(value: Value): readonly Tuple[] {
  const named = value instanceof KeyedList ? value.byName : undefined;
  const entries = named ?? (isJsonObject(value) ? Object.entries(value) : []);
  return entries.map((pair) => Tuple.make(pair));
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}

/** Strips characters at one or both ends: white space by default. */
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
  // Charged before the text is created, so that no template can exhaust the memory.
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

const escape: Operation = (value) => escapeMarkup(toText(value));

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

/** Words start only after white space, `-` and opening brackets. */
const title: Operation = (value) =>
  toText(value).replace(/[^-\s({[<]+/g, (word) => capitalize(word));

const urlencode: Operation = (value) =>
  encodeURIComponent(toText(value).toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2F', '/');

/** Filters that return a text. */
const textFilters: Readonly<Record<string, Operation>> = {
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

/** All filters, by the names that templates use. */
export const filters: Readonly<Record<string, Operation>> = {
  ...textFilters,
  abs: (value) => Math.abs(toNumber(value, 0)),
  batch,
  count: length,
  d: defaultTo,
  default: defaultTo,
  dictsort,
  first: (value) => toList(value)[0],
  float: (value, call) => toNumber(value, toNumber(argument(call, 0, 'default'), 0)),
  groupby,
  int: (value, call) => Math.trunc(toNumber(value, toNumber(argument(call, 0, 'default'), 0))),
  items: pairs,
  join,
  last: (value) => toList(value).at(-1),
  length,
  list: (value) => [...toList(value)],
  map,
  max: extreme(1),
  min: extreme(-1),
  reject: select(false, false),
  rejectattr: select(false, true),
  reverse: (value) =>
    typeof value === 'string' ? Array.from(value).reverse().join('') : [...toList(value)].reverse(),
  round,
  select: select(true, false),
  selectattr: select(true, true),
  slice,
  sort,
  sum: (value, call) => {
    const attribute = argument(call, 0, 'attribute');
    return toList(value)
      .map((item) => toNumber(attribute === undefined ? item : attributeOf(item, attribute), 0))
      .reduce((total, number) => total + number, toNumber(argument(call, 1, 'start'), 0));
  },
  to_json_escaped_string: (value) => JSON.stringify(value ?? null),
  tojson,
  unique,
};

const unicode = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * JSON as the filter of Jinja2 writes it: keys sorted, a space after commas and colons, and only ASCII
 * characters that are harmless in HTML. `ensure_ascii=false` leaves every character readable,
 * `sort_keys=false` leaves the keys in their order.
 */
function tojson(value: Value, call: Call): string {
  const indent = Math.min(8, Math.max(0, toNumber(argument(call, 0, 'indent'), 0)));
  const isSorted = isTruthy(call.named.get('sort_keys') ?? true);
  const parts: string[] = [];
  write(value ?? null, '\n', { indent, isSorted, parts, spend: call.spend });
  const text = parts.join('');
  if (!isTruthy(call.named.get('ensure_ascii') ?? true)) return text;
  return text.replace(/[<>&'\u007f-\uffff]/g, unicode);
}

interface JsonOutput {
  readonly indent: number;
  readonly isSorted: boolean;
  readonly parts: string[];
  readonly spend: (amount: number) => void;
}

/** `line`: a line break and the indentation of the enclosing value. */
function write(value: JsonValue, line: string, output: JsonOutput): void {
  const { indent, isSorted, parts, spend } = output;
  const inner = line + ' '.repeat(indent);
  const between = <T>(items: readonly T[], [open, close]: string, item: (one: T) => void): void => {
    const isIndented = indent > 0 && items.length > 0;
    // Charged before the text is created. Its other characters are charged as the size of the value.
    if (isIndented) spend((items.length + 1) * inner.length);
    parts.push(open ?? '');
    for (const [at, one] of items.entries()) {
      if (at > 0) parts.push(isIndented ? ',' : ', ');
      if (isIndented) parts.push(inner);
      item(one);
    }
    if (isIndented) parts.push(line);
    parts.push(close ?? '');
  };
  if (typeof value !== 'object' || value === null) parts.push(JSON.stringify(value));
  else if (isJsonList(value)) between(value, '[]', (item) => write(item, inner, output));
  else if (isJsonObject(value)) {
    const keys = isSorted ? Object.keys(value).sort() : Object.keys(value);
    between(keys, '{}', (key) => {
      parts.push(JSON.stringify(key), ': ');
      write(value[key] ?? null, inner, output);
    });
  } else parts.push('null');
}
