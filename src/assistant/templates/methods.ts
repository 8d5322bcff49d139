import { isJsonList, isJsonObject } from '../../protocol/index.ts';
import { capitalize, pad, pairs, replace, strip } from './filters.ts';
import { dayOf, zoneOf } from './date-fields.ts';
import { dateOf, formatBraces, isoFormat, strftime } from './python-format.ts';
import {
  argument,
  isEqual,
  member,
  type Operation,
  toList,
  toNumber,
  toText,
  Tuple,
  type Value,
} from './value.ts';

/** Whether all characters of a non-empty text match a class. */
const all =
  (pattern: RegExp): Operation =>
  (value) =>
    pattern.test(toText(value));

const split: Operation = (value, call) => {
  const text = toText(value);
  const by = argument(call, 0, 'sep') ?? null;
  const most = toNumber(argument(call, 1, 'maxsplit'), -1);
  if (by === '') throw new RangeError('split needs a separator that is not empty');
  const pieces = by === null ? (text.match(/\S+/g) ?? []) : text.split(toText(by));
  if (most < 0 || pieces.length <= most + 1) return pieces;
  if (by !== null) return [...pieces.slice(0, most), pieces.slice(most).join(toText(by))];
  const rest = text.trimStart().match(new RegExp(`^(?:\\S+\\s+){${Math.min(most, 10_000)}}`))?.[0];
  return [...pieces.slice(0, most), text.trimStart().slice(rest?.length ?? 0)];
};

const rsplit: Operation = (value, call) => {
  const by = argument(call, 0, 'sep') ?? null;
  const most = toNumber(argument(call, 1, 'maxsplit'), -1);
  const pieces = toList(split(value, { ...call, positional: [by], named: new Map() }));
  const cut = pieces.length - most;
  if (most < 0 || cut <= 1) return pieces;
  return [
    pieces
      .slice(0, cut)
      .map(toText)
      .join(by === null ? ' ' : toText(by)),
    ...pieces.slice(cut),
  ];
};

const count: Operation = (value, call) =>
  isJsonList(value)
    ? value.filter((item) => isEqual(item, call.positional[0])).length
    : toText(value).split(toText(call.positional[0]) || '\0').length - 1;

const index: Operation = (value, call) => {
  const [item] = call.positional;
  const at = isJsonList(value)
    ? value.findIndex((one) => isEqual(one, item))
    : toText(value).indexOf(toText(item));
  if (at === -1) throw new RangeError(`index did not find ${toText(item).slice(0, 40)}`);
  return at;
};

const partition: Operation = (value, call) => {
  const [text, by] = [toText(value), toText(call.positional[0])];
  const at = text.indexOf(by);
  if (by === '' || at === -1) return Tuple.make([text, '', '']);
  return Tuple.make([text.slice(0, at), by, text.slice(at + by.length)]);
};

/** `startswith(('a', 'b'))`: any of several. */
const someOf = (options: Value, holds: (option: string) => boolean): boolean =>
  (isJsonList(options) ? options : [options]).some((option) => holds(toText(option)));

/** Capitalizes each letter that follows a non-letter. */
const title: Operation = (value) => toText(value).replace(/\p{L}+/gu, (word) => capitalize(word));

/** Zeros go between the sign and the digits. */
const zfill: Operation = (value, call) => {
  const text = toText(value);
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  const zeros = '0'.repeat(pad(text, call, 'right').length - text.length);
  return sign + zeros + text.slice(sign.length);
};

/** Python's methods of texts, dates, mappings and lists. */
export const methods: Readonly<Record<string, Operation>> = {
  capitalize: (value) => capitalize(toText(value)),
  casefold: (value) => toText(value).toLowerCase(),
  center: (value, call) => pad(value, call, 'both'),
  copy: (value) => value,
  count,
  /** A method of `loop`. */
  cycle: (value, call) =>
    call.positional[toNumber(member(value, 'index0'), 0) % Math.max(1, call.positional.length)],
  date: (value) => strftime(toText(value), '%Y-%m-%d'),
  endswith: (value, call) => someOf(call.positional[0], (end) => toText(value).endsWith(end)),
  find: (value, call) => toText(value).indexOf(toText(call.positional[0])),
  format: (value, call) => formatBraces(toText(value), call),
  get: (value, call) => member(value, call.positional[0]) ?? call.positional[1] ?? null,
  index,
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isalpha: all(/^\p{L}+$/u),
  isdigit: all(/^\p{Nd}+$/u),
  islower: (value) => /\p{Ll}/u.test(toText(value)) && !/\p{Lu}/u.test(toText(value)),
  isdecimal: all(/^\p{Nd}+$/u),
  isnumeric: all(/^\p{N}+$/u),
  isoformat: (value) => isoFormat(toText(value)),
  /** Monday is 1. */
  isoweekday: (value) => dayOf(dateOf(toText(value), 'isoweekday')).getUTCDay() || 7,
  isspace: all(/^\s+$/),
  isupper: (value) => /\p{Lu}/u.test(toText(value)) && !/\p{Ll}/u.test(toText(value)),
  items: pairs,
  join: (value, call) => {
    const list = toList(call.positional[0]).map(toText);
    call.spend(list.length * toText(value).length);
    return list.join(toText(value));
  },
  keys: (value) => (isJsonObject(value) ? Object.keys(value) : []),
  ljust: (value, call) => pad(value, call, 'left'),
  lower: (value) => toText(value).toLowerCase(),
  lstrip: (value, call) => strip(value, call.positional[0], 'start'),
  partition,
  removeprefix: (value, call) => {
    const [text, prefix] = [toText(value), toText(call.positional[0])];
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  },
  removesuffix: (value, call) => {
    const [text, suffix] = [toText(value), toText(call.positional[0])];
    return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  },
  replace,
  rfind: (value, call) => toText(value).lastIndexOf(toText(call.positional[0])),
  rjust: (value, call) => pad(value, call, 'right'),
  rsplit,
  rstrip: (value, call) => strip(value, call.positional[0], 'end'),
  split,
  splitlines: (value) =>
    toText(value)
      .replace(/\r?\n$|\r$/, '')
      .split(/\r\n|\r|\n/),
  startswith: (value, call) =>
    someOf(call.positional[0], (start) => toText(value).startsWith(start)),
  strftime: (value, call) => strftime(toText(value), toText(call.positional[0])),
  strip: (value, call) => strip(value, call.positional[0], 'both'),
  swapcase: (value) =>
    toText(value).replace(/\p{L}/gu, (letter) =>
      letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
    ),
  time: (value) => strftime(toText(value), '%H:%M:%S'),
  title,
  tzname: (value) => zoneOf(dateOf(toText(value), 'tzname')) || null,
  upper: (value) => toText(value).toUpperCase(),
  /** A method of dates; Monday is 0. */
  weekday: (value) => (dayOf(dateOf(toText(value), 'weekday')).getUTCDay() + 6) % 7,
  values: (value) => (isJsonObject(value) ? Object.values(value) : []),
  zfill,
};
