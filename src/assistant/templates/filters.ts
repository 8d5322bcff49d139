import type { JsonValue } from '../../protocol/index.ts';
import { formatPercent } from './format-percent.ts';
import { tests } from './tests.ts';
import { isEqual, isList, isMapping, isTruthy, member, order, toText } from './value.ts';
import type { Value } from './value.ts';

export interface Call {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** What a filter or method computes; throws `RangeError` with the reason when it cannot. */
export type Operation = (value: Value, call: Call) => Value;

/** The argument at a place, or of a name. */
export function argument(call: Call, at: number, name: string): Value {
  return call.named.get(name) ?? call.positional[at];
}

/** Anything that can be walked through, as a list. */
export function toList(value: Value): readonly JsonValue[] {
  if (isList(value)) return value;
  if (typeof value === 'string') return Array.from(value);
  return isMapping(value) ? Object.keys(value) : [];
}

function toNumber(value: Value, fallback: number): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : fallback;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}

/** Values without an order stay where they are, behind those that have one. */
function sorted(value: Value, call: Call): readonly JsonValue[] {
  const attribute = argument(call, 2, 'attribute');
  const ignoreCase = !isTruthy(argument(call, 1, 'case_sensitive'));
  const key = (item: JsonValue): Value => {
    const by = attribute === undefined ? item : attributeOf(item, attribute);
    return ignoreCase && typeof by === 'string' ? by.toLowerCase() : by;
  };
  const list = toList(value)
    .map((item) => ({ item, key: key(item) }))
    .sort((left, right) => order(left.key, right.key) ?? 0)
    .map(({ item }) => item);
  return isTruthy(argument(call, 0, 'reverse')) ? list.reverse() : list;
}

/** `a.b` as an attribute goes two levels down. */
function attributeOf(value: Value, attribute: Value): Value {
  if (typeof attribute !== 'string') return member(value, attribute);
  return attribute.split('.').reduce<Value>((of, key) => member(of, key), value);
}

function unique(value: Value): readonly JsonValue[] {
  const seen = new Set<string>();
  return toList(value).filter((item) => {
    const key = JSON.stringify(typeof item === 'string' ? item.toLowerCase() : item);
    return !seen.has(key) && seen.add(key);
  });
}

function replace(value: Value, call: Call): string {
  const text = toText(value);
  const old = toText(call.positional[0]);
  const by = toText(call.positional[1]);
  const most = toNumber(argument(call, 2, 'count'), Infinity);
  if (old === '') return text;
  const pieces = text.split(old);
  // Before the text is made, so that no template can ask for more memory than there is.
  if (text.length + pieces.length * by.length > 10_000_000) throw new RangeError('text too long');
  if (pieces.length - 1 <= most) return pieces.join(by);
  return [...pieces.slice(0, most), pieces.slice(most).join(old)].join(by);
}

function round(value: Value, call: Call): number {
  const digits = Math.min(15, Math.max(-15, toNumber(argument(call, 0, 'precision'), 0)));
  const method = toText(argument(call, 1, 'method')) || 'common';
  const number = toNumber(value, 0);
  const move = (by: number, exponent: number) => {
    const [digits = '0', power = '0'] = String(by).split('e');
    return Number(`${digits}e${Number(power) + exponent}`);
  };
  const operation = { common: Math.round, floor: Math.floor, ceil: Math.ceil }[method];
  if (operation === undefined) throw new RangeError('round knows common, floor and ceil');
  const sign = method === 'common' && number < 0 ? -1 : 1;
  return sign * move(operation(move(sign * number, digits)), -digits);
}

/** The filter `select` and its kin: keeps the items of which a test holds. */
function select(keep: boolean, byAttribute: boolean): Operation {
  return (value, call) => {
    const [first, second, ...rest] = call.positional;
    const name = byAttribute ? second : first;
    const test = name === undefined ? isTruthy : tests[toText(name)];
    if (test === undefined) throw new RangeError(`no test named ${toText(name)}`);
    const operands = byAttribute ? rest : call.positional.slice(1);
    return toList(value).filter((item) => {
      const subject = byAttribute ? attributeOf(item, first) : item;
      return test(subject, operands[0]) === keep;
    });
  };
}

function extreme(sign: 1 | -1): Operation {
  return (value) =>
    toList(value).reduce<Value>(
      (best, item) => (best === undefined || order(item, best) === sign ? item : best),
      undefined,
    );
}

const length: Operation = (value) => toList(value).length;
const defaultTo: Operation = (value, call) => {
  const alsoFalse = isTruthy(argument(call, 1, 'boolean'));
  const isMissing = alsoFalse ? !isTruthy(value) : value === undefined;
  return isMissing ? (argument(call, 0, 'default_value') ?? '') : value;
};
const items: Operation = (value) => (isMapping(value) ? Object.entries(value) : []);

function map(value: Value, call: Call): Value {
  const attribute = call.named.get('attribute');
  if (attribute !== undefined) {
    const fallback = call.named.get('default') ?? null;
    return toList(value).map((item) => attributeOf(item, attribute) ?? fallback);
  }
  const name = toText(call.positional[0]);
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined;
  if (filter === undefined) throw new RangeError('map needs attribute= or the name of a filter');
  const rest = { positional: call.positional.slice(1), named: call.named };
  return toList(value).map((item) => filter(item, rest) ?? null);
}

/** By name, as templates call them. */
export const filters: Readonly<Record<string, Operation>> = {
  abs: (value) => Math.abs(toNumber(value, 0)),
  capitalize: (value) => capitalize(toText(value)),
  count: length,
  d: defaultTo,
  default: defaultTo,
  dictsort: (value) =>
    isMapping(value) ? Object.entries(value).sort(([a], [b]) => order(a, b) ?? 0) : [],
  first: (value) => toList(value)[0],
  float: (value, call) => toNumber(value, toNumber(argument(call, 0, 'default'), 0)),
  format: (value, call) => formatPercent(toText(value), call.positional),
  int: (value, call) => Math.trunc(toNumber(value, toNumber(argument(call, 0, 'default'), 0))),
  items,
  join: (value, call) => {
    const attribute = argument(call, 1, 'attribute');
    const list = toList(value).map((item) =>
      toText(attribute === undefined ? item : attributeOf(item, attribute)),
    );
    const separator = toText(argument(call, 0, 'd'));
    if (list.length * separator.length > 10_000_000) throw new RangeError('text too long');
    return list.join(separator);
  },
  last: (value) => toList(value).at(-1),
  length,
  list: (value) => toList(value),
  lower: (value) => toText(value).toLowerCase(),
  map,
  max: extreme(1),
  min: extreme(-1),
  reject: select(false, false),
  rejectattr: select(false, true),
  replace,
  reverse: (value) =>
    typeof value === 'string' ? Array.from(value).reverse().join('') : [...toList(value)].reverse(),
  round,
  safe: (value) => value,
  select: select(true, false),
  selectattr: select(true, true),
  sort: sorted,
  string: (value) => toText(value),
  sum: (value, call) => {
    const attribute = argument(call, 0, 'attribute');
    return toList(value)
      .map((item) => toNumber(attribute === undefined ? item : attributeOf(item, attribute), 0))
      .reduce((total, number) => total + number, 0);
  },
  title: (value) => toText(value).replace(/[\p{L}\p{N}'’]+/gu, capitalize),
  tojson: (value, call) => {
    const indent = toNumber(argument(call, 0, 'indent'), 0);
    return JSON.stringify(value ?? null, undefined, Math.min(8, Math.max(0, indent)));
  },
  trim: (value) => toText(value).trim(),
  unique,
  upper: (value) => toText(value).toUpperCase(),
};

/** The few methods that templates call on texts, mappings and lists. */
export const methods: Readonly<Record<string, Operation>> = {
  capitalize: filters['capitalize'] as Operation,
  count: (value, call) =>
    isList(value)
      ? value.filter((item) => isEqual(item, call.positional[0])).length
      : toText(value).split(toText(call.positional[0]) || '\0').length - 1,
  endswith: (value, call) => toText(value).endsWith(toText(call.positional[0])),
  get: (value, call) => member(value, call.positional[0]) ?? call.positional[1] ?? null,
  items,
  join: (value, call) => toList(call.positional[0]).map(toText).join(toText(value)),
  keys: (value) => (isMapping(value) ? Object.keys(value) : []),
  lower: filters['lower'] as Operation,
  replace,
  split: (value, call) => {
    const by = call.positional[0];
    return by === undefined
      ? toText(value).split(/\s+/).filter(Boolean)
      : toText(value).split(toText(by));
  },
  startswith: (value, call) => toText(value).startsWith(toText(call.positional[0])),
  strip: (value) => toText(value).trim(),
  title: filters['title'] as Operation,
  upper: filters['upper'] as Operation,
  values: (value) => (isMapping(value) ? Object.values(value) : []),
};
