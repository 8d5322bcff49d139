import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import { dateFields } from './date-fields.ts';

/** Values of expressions: JSON, and undefined for missing values. */
export type Value = JsonValue | undefined;

/**
 * The result of `(a, b)`, `items()` and the like: a list that is written with parentheses. Its items can
 * have names, like those of `groupby`.
 */
export class Tuple extends Array<JsonValue> {
  readonly #names: readonly string[];

  private constructor(names: readonly string[]) {
    super();
    this.#names = names;
  }

  static make(items: readonly JsonValue[], names: readonly string[] = []): Tuple {
    const tuple = new Tuple(names);
    for (const item of items) tuple.push(item);
    return tuple;
  }

  named(name: string): JsonValue | undefined {
    const at = this.#names.indexOf(name);
    return at === -1 ? undefined : this[at];
  }

  // Array methods on a tuple return a list.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** A list whose items can also be read by name: `for slot in slots` and `slots.amount`. */
export class KeyedList extends Array<JsonValue> {
  readonly #values: ReadonlyMap<string, JsonValue>;

  private constructor(values: ReadonlyMap<string, JsonValue>) {
    super();
    this.#values = values;
  }

  /** Creates a list from items with a name and a value. */
  static make(
    items: readonly (JsonObject & { readonly name: string; readonly value: JsonValue })[],
  ): KeyedList {
    const list = new KeyedList(new Map(items.map(({ name, value }) => [name, value])));
    for (const item of items) list.push(item);
    return list;
  }

  named(name: string): JsonValue | undefined {
    return this.#values.get(name);
  }

  get byName(): readonly (readonly [string, JsonValue])[] {
    return [...this.#values];
  }

  // Array methods on it return a plain list.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** Names of JavaScript's object internals; never read as data. */
const forbidden = new Set(['__proto__', 'constructor', 'prototype']);

/** Like in Python: empty containers and texts, zero, none and undefined are false. */
export function isTruthy(value: Value): boolean {
  if (isJsonList(value)) return value.length > 0;
  if (isJsonObject(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** `value.key` and `value[key]`: own properties only, undefined for missing ones. */
export function member(value: Value, key: Value): Value {
  if (typeof key === 'number') {
    if (!isJsonList(value) && typeof value !== 'string') {
      return isJsonObject(value) ? member(value, String(key)) : undefined;
    }
    return value[key < 0 ? value.length + key : key];
  }
  if (typeof key !== 'string') return undefined;
  if (isJsonObject(value)) {
    return !forbidden.has(key) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  if (value instanceof Tuple || value instanceof KeyedList) return value.named(key);
  if (typeof value === 'string') return dateField(value, key);
  return isJsonList(value) && /^-?\d+$/.test(key) ? member(value, Number(key)) : undefined;
}

const dateAttributes = ['year', 'month', 'day', 'hour', 'minute', 'second', 'microsecond'] as const;

/** `current_datetime.year`: dates are strings here. */
function dateField(text: string, key: string): number | undefined {
  const name = dateAttributes.find((attribute) => attribute === key);
  return name === undefined ? undefined : dateFields(text)?.[name];
}

/** Deep equality, strict about types: `1` is not `true` and not `"1"`. */
export function isEqual(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (isJsonList(left) && isJsonList(right)) {
    return left.length === right.length && left.every((item, at) => isEqual(item, right[at]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isEqual(left[key], right[key]))
  );
}

/** -1, 0 or 1; undefined for values that can't be compared, such as a number and a text. */
export function order(left: Value, right: Value): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return Math.sign(left - right);
  if (typeof left === 'string' && typeof right === 'string') {
    if (left === right) return 0;
    return left < right ? -1 : 1;
  }
  return undefined;
}

/** Whether a container has an item: a text a substring, a list an item, a mapping a key. */
export function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') return typeof item === 'string' && container.includes(item);
  if (isJsonList(container)) return container.some((one) => isEqual(one, item));
  return isJsonObject(container) && typeof item === 'string' && Object.hasOwn(container, item);
}

/** The text of a value in Python's notation: `None`, `True`, `['a', 1]`. */
export function toText(value: Value): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : inner(value);
}

function inner(value: JsonValue): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return quote(value);
  if (value instanceof Tuple) {
    return `(${value.map(inner).join(', ')}${value.length === 1 ? ',' : ''})`;
  }
  if (isJsonList(value)) return `[${value.map(inner).join(', ')}]`;
  const pairs = Object.entries(value);
  return `{${pairs.map(([key, item]) => `${quote(key)}: ${inner(item)}`).join(', ')}}`;
}

function quote(text: string): string {
  if (!/[\\'\n\r\t]/.test(text)) return `'${text}'`;
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll(mark, `\\${mark}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return mark + escaped + mark;
}

/** A test after `is`: `x is defined`, `n is divisibleby 3`. */
type Test = (value: Value, operand: Value) => boolean;

const compare =
  (holds: (sign: number) => boolean): Test =>
  (value, operand) => {
    const sign = order(value, operand);
    return sign !== undefined && holds(sign);
  };

const equal: Test = (value, operand) => isEqual(value, operand);
const greater = compare((sign) => sign > 0);
const less = compare((sign) => sign < 0);

export const tests: Readonly<Record<string, Test>> = {
  boolean: (value) => typeof value === 'boolean',
  defined: (value) => value !== undefined,
  divisibleby: (value, operand) => Number(value) % Number(operand) === 0,
  eq: equal,
  equalto: equal,
  even: (value) => typeof value === 'number' && value % 2 === 0,
  false: (value) => value === false,
  float: (value) => typeof value === 'number' && !Number.isInteger(value),
  ge: compare((sign) => sign >= 0),
  greaterthan: greater,
  gt: greater,
  in: (value, operand) => contains(operand, value),
  integer: (value) => Number.isInteger(value),
  iterable: (value) => isJsonList(value) || isJsonObject(value) || typeof value === 'string',
  le: compare((sign) => sign <= 0),
  lessthan: less,
  lower: (value) => typeof value === 'string' && value === value.toLowerCase(),
  lt: less,
  mapping: isJsonObject,
  ne: (value, operand) => !isEqual(value, operand),
  none: (value) => value === null,
  number: (value) => typeof value === 'number',
  odd: (value) => typeof value === 'number' && Math.abs(value % 2) === 1,
  sequence: (value) => isJsonList(value) || typeof value === 'string',
  sameas: (value, operand) => value === operand,
  string: (value) => typeof value === 'string',
  true: (value) => value === true,
  undefined: (value) => value === undefined,
  upper: (value) => typeof value === 'string' && value === value.toUpperCase(),
};

/** The arguments of a filter or method, and the budget of the rendering. */
export interface Call {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
  /**
   * Charges characters or items to the rendering's budget. @throws {RangeError} if the budget is
   * exceeded.
   */
  readonly spend: (amount: number) => void;
}

/** A filter or method; throws `RangeError` with the reason if it fails. */
export type Operation = (value: Value, call: Call) => Value;

/** The argument with a name, or at a position. */
export function argument(call: Call, at: number, name: string): Value {
  return call.named.get(name) ?? call.positional[at];
}

/** Converts an iterable value to a list; other values to an empty one. */
export function toList(value: Value): readonly JsonValue[] {
  if (isJsonList(value)) return value;
  if (typeof value === 'string') return Array.from(value);
  return isJsonObject(value) ? Object.keys(value) : [];
}

export function toNumber(value: Value, fallback: number): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') {
    return /^\s*[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i.test(value)
      ? Number(value.replaceAll('_', ''))
      : fallback;
  }
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}

/** Reads an attribute; `a.b` is a path. */
export function attributeOf(value: Value, attribute: Value): Value {
  if (typeof attribute !== 'string') return member(value, attribute);
  return attribute.split('.').reduce<Value>((of, key) => member(of, key), value);
}
