import { argument, type Budget, type Operation, toNumber } from './operation.ts';
import { formatPercent } from './python-format.ts';
import type { BinaryOperator } from './syntax.ts';
import { contains, isEqual, isList, order, toText, Tuple, type Value } from './value.ts';

/** What an operator other than `and` and `or` makes of two values. */
export function operate(
  operator: Exclude<BinaryOperator, 'and' | 'or'>,
  left: Value,
  right: Value,
  budget: Budget,
): Value {
  if (typeof left === 'object' || typeof right === 'object' || operator === '~') {
    budget.spend(budget.size(left) + budget.size(right));
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
      return budget.bounded(toText(left) + toText(right));
    case '+':
      if (typeof left === 'string' && typeof right === 'string') {
        return budget.bounded(left + right);
      }
      if (isList(left) && isList(right)) return budget.bounded([...left, ...right]);
      return toOperand(left) + toOperand(right);
    case '*':
      if (typeof left === 'string' || isList(left)) return repeat(left, right, budget);
      if (typeof right === 'string' || isList(right)) return repeat(right, left, budget);
      return toOperand(left) * toOperand(right);
    case '%':
      if (typeof left === 'string') {
        const positional = right instanceof Tuple ? right : [right];
        return budget.bounded(formatPercent(left, { positional, spend: budget.spend }));
      }
      return arithmetic(operator, toOperand(left), toOperand(right));
    default:
      return arithmetic(operator, toOperand(left), toOperand(right));
  }
}

function repeat(
  value: Extract<Value, string | readonly unknown[]>,
  by: Value,
  budget: Budget,
): Value {
  const times = Math.max(0, Math.trunc(toOperand(by)));
  // Before it is made, so that no template can ask for more memory than there is.
  budget.spend(value.length * times + times);
  if (typeof value === 'string') return budget.bounded(value.repeat(times));
  return budget.bounded(Array.from({ length: times }, () => value).flat());
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

/**
 * The filter `round`. Like Python, `common` rounds what the binary number really is (2.675 is a
 * little less), and an exact half to the even neighbour.
 */
export const round: Operation = (value, call) => {
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
  // A half that `toFixed` took away from zero to an odd digit belongs to the other neighbour.
  return last % 2 === 0
    ? rounded
    : Number((rounded - Math.sign(number) * 10 ** -digits).toFixed(digits));
}
