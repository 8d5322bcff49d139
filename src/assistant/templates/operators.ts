import { isJsonList, isJsonObject, type JsonValue } from '../../protocol/index.ts';
import { formatPercent } from './python-format.ts';
import type { Rendering } from './rendering.ts';
import { type Call, contains, isEqual, order, toList, toText, Tuple, type Value } from './value.ts';

type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';
type Arithmetic = '~' | '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type BinaryOperator = 'and' | 'or' | Comparison | Arithmetic;

/** Applies an operator other than `and` and `or` to two values. */
export function operate(
  operator: Exclude<BinaryOperator, 'and' | 'or'>,
  left: Value,
  right: Value,
  rendering: Rendering,
): Value {
  if (typeof left === 'object' || typeof right === 'object' || operator === '~') {
    rendering.spend(rendering.size(left) + rendering.size(right));
  }
  switch (operator) {
    case '==':
      return isEqual(left, right);
    case '!=':
      return !isEqual(left, right);
    case '<':
      return (order(left, right) ?? 0) < 0;
    case '>':
      return (order(left, right) ?? 0) > 0;
    case '<=':
      return (order(left, right) ?? 1) <= 0;
    case '>=':
      return (order(left, right) ?? -1) >= 0;
    case 'in':
      return contains(right, left);
    case 'not in':
      return !contains(right, left);
    case '~':
      return rendering.bounded(toText(left) + toText(right));
    case '+':
      if (typeof left === 'string' && typeof right === 'string') {
        return rendering.bounded(left + right);
      }
      if (isJsonList(left) && isJsonList(right)) return rendering.bounded([...left, ...right]);
      return toOperand(left) + toOperand(right);
    case '*':
      if (typeof left === 'string' || isJsonList(left)) return repeat(left, right, rendering);
      if (typeof right === 'string' || isJsonList(right)) return repeat(right, left, rendering);
      return toOperand(left) * toOperand(right);
    case '%':
      if (typeof left === 'string') {
        const positional = right instanceof Tuple ? right : [right];
        return rendering.bounded(formatPercent(left, { positional, spend: rendering.spend }));
      }
      return arithmetic(operator, toOperand(left), toOperand(right));
    default:
      return arithmetic(operator, toOperand(left), toOperand(right));
  }
}

function repeat(
  value: Extract<Value, string | readonly unknown[]>,
  by: Value,
  rendering: Rendering,
): Value {
  const times = Math.max(0, Math.trunc(toOperand(by)));
  // Charged before the value is created, so that no template can exhaust the memory.
  rendering.spend(value.length * times + times);
  if (typeof value === 'string') return rendering.bounded(value.repeat(times));
  return rendering.bounded(Array.from({ length: times }, () => value).flat());
}

function arithmetic(operator: '-' | '/' | '//' | '%' | '**', left: number, right: number): number {
  if (operator === '-') return left - right;
  if (operator === '**') return left ** right;
  if (right === 0) throw new RangeError('division by zero');
  if (operator === '/') return left / right;
  // The remainder has the sign of the divisor.
  return operator === '//' ? Math.floor(left / right) : left - right * Math.floor(left / right);
}

export function toOperand(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  const found = value === undefined ? 'nothing' : toText(value).slice(0, 40);
  throw new RangeError(`expected a number, found ${found}`);
}

/** `value[first:last:by]`. */
export function slice(
  value: Value,
  { first, last, by }: { first: number | undefined; last: number | undefined; by: number },
  rendering: Rendering,
): Value {
  if (typeof value !== 'string' && !isJsonList(value)) return undefined;
  rendering.spend(value.length);
  if (by === 1) return value.slice(first, last);
  if (by === 0) throw new RangeError('the step of a slice is zero');
  // A negative step slices from the end to the start.
  const list = toList(value);
  const items = by > 0 ? list.slice(first, last) : backwards(list, first, last);
  const taken = items.filter((_, at) => at % Math.abs(by) === 0);
  return typeof value === 'string' ? taken.map(toText).join('') : taken;
}

function backwards(
  list: readonly JsonValue[],
  from: number | undefined,
  to: number | undefined,
): readonly JsonValue[] {
  const at = (index: number) => (index < 0 ? list.length + index : index);
  const last = from === undefined ? list.length - 1 : Math.min(at(from), list.length - 1);
  const end = to === undefined ? -1 : Math.max(-1, at(to));
  return list.slice(end + 1, last + 1).toReversed();
}

export function range({ positional }: Call, rendering: Rendering): Value {
  const [first = 0, second, step = 1] = positional.map(toOperand);
  const [from, to] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new RangeError('the step of range is zero');
  const length = Math.max(0, Math.ceil((to - from) / step));
  rendering.spend(length);
  return rendering.bounded(Array.from({ length }, (_, at) => from + at * step));
}

/** The entries for `dict` and `namespace`: a mapping or pairs, and named arguments. */
export function entriesOf({ positional, named }: Call): (readonly [string, JsonValue])[] {
  const [first] = positional;
  const given = isJsonObject(first)
    ? Object.entries(first)
    : toList(first).map((pair) => [toText(toList(pair)[0]), toList(pair)[1] ?? null] as const);
  return [...given, ...[...named].map(([name, value]) => [name, value ?? null] as const)];
}
