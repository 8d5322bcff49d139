import { isJsonObject, type JsonValue } from '../../protocol/index.ts';
import { argument, attributeOf, type Call, type Operation, toList, toNumber } from './operation.ts';
import { round } from './operators.ts';
import { textFilters } from './text-filters.ts';
import { isList, isTruthy, order, tests, toText, Tuple, type Value } from './value.ts';

/** Of the text of an item, by which items are told apart; in steps of the renderer. */
const textCost = 5;

/** What items are compared by: an attribute or the item itself, without case unless asked for. */
function keyOf(attribute: Value, caseSensitive: Value): (item: JsonValue) => Value {
  const ignoreCase = !isTruthy(caseSensitive);
  return (item) => {
    const by = attribute === undefined ? item : attributeOf(item, attribute);
    return ignoreCase && typeof by === 'string' ? by.toLowerCase() : by;
  };
}

/** Values without an order stay where they are, behind those that have one. */
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
    Tuple.named(['grouper', 'list'], [group.key ?? null, group.items]),
  );
}

/** Booleans are in order as 0 and 1 are. */
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

/** The filter `select` and its kin: keeps the items of which a test holds. */
function select(keep: boolean, byAttribute: boolean): Operation {
  return (value, call) => {
    const [first, second, ...rest] = call.positional;
    const name = byAttribute ? second : first;
    const test = name === undefined ? isTruthy : tests[toText(name)];
    if (test === undefined) throw new RangeError(`no test named ${toText(name)}`);
    const operand = byAttribute ? rest[0] : second;
    const list = toList(value);
    // The test `in` looks through its operand for every item.
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

const length: Operation = (value) => toList(value).length;
const defaultTo: Operation = (value, call) => {
  const alsoFalse = isTruthy(argument(call, 1, 'boolean'));
  const isMissing = alsoFalse ? !isTruthy(value) : value === undefined;
  return isMissing ? (argument(call, 0, 'default_value') ?? '') : value;
};

export function pairs(value: Value): readonly Tuple[] {
  return isJsonObject(value) ? Object.entries(value).map((pair) => Tuple.named([], pair)) : [];
}

/** By name, as templates call them. */
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
 * JSON as the filter of Jinja2 writes it: keys sorted, a space behind commas and colons, and only
 * ASCII characters that are harmless in HTML. `ensure_ascii=false` leaves every character readable,
 * `sort_keys=false` leaves the keys in their order.
 */
function tojson(value: Value, call: Call): string {
  const indent = Math.min(8, Math.max(0, toNumber(argument(call, 0, 'indent'), 0)));
  const isSorted = isTruthy(call.named.get('sort_keys') ?? true);
  const text = write(value ?? null, indent, isSorted, '\n');
  if (!isTruthy(call.named.get('ensure_ascii') ?? true)) return text;
  return text.replace(/[<>&'\u007f-\uffff]/g, unicode);
}

/** `line` is a line break and the indentation of what stands around the value. */
function write(value: JsonValue, indent: number, isSorted: boolean, line: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = line + ' '.repeat(indent);
  const between = (items: readonly string[], open: string, close: string): string => {
    if (items.length === 0 || indent === 0) return open + items.join(', ') + close;
    return open + inner + items.join(`,${inner}`) + line + close;
  };
  if (isList(value)) {
    return between(
      value.map((item) => write(item, indent, isSorted, inner)),
      '[',
      ']',
    );
  }
  if (!isJsonObject(value)) return 'null';
  const keys = isSorted ? Object.keys(value).sort() : Object.keys(value);
  const pairs = keys.map(
    (key) => `${JSON.stringify(key)}: ${write(value[key] ?? null, indent, isSorted, inner)}`,
  );
  return between(pairs, '{', '}');
}
