import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { compilePattern, type Pattern, PatternError } from '../../regex/index.ts';
import { BoundedCache } from '../cache.ts';
import type { Domain } from '../model.ts';
import {
  contains,
  isEqual,
  isTruthy,
  member,
  order,
  toText,
  type Value,
} from '../templates/value.ts';
import type { Predicate } from './syntax.ts';

/** What a condition can see. */
export interface ConditionScope {
  /** By name; a slot without a value is null. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** Properties of the present dialogue frame. */
  readonly context?: JsonObject;
  /** Makes comparisons with categorical slots independent of upper and lower case. */
  readonly domain?: Pick<Domain, 'slots'>;
  /** Receives comparisons that can't be evaluated and therefore count as false. */
  readonly trouble?: (reason: string) => void;
}

/** Equals every empty value; not a JSON value, so it is a symbol. */
const empty = Symbol('empty');
type Operand = Value | typeof empty;

export function evaluate(predicate: Predicate, scope: ConditionScope): boolean {
  switch (predicate.kind) {
    case 'logic': {
      // Right-folded chains are walked in a loop, so that their length costs no stack.
      let at: Predicate = predicate;
      while (at.kind === 'logic') {
        const left = evaluate(at.left, scope);
        if (left !== (at.operator === 'and')) return left;
        at = at.right;
      }
      return evaluate(at, scope);
    }
    case 'not':
      return !evaluate(predicate.of, scope);
    case 'comparison':
      return compare(predicate, scope);
    case 'set':
      return predicate.items.length > 0;
    default: {
      const value = operand(predicate, scope);
      return value !== empty && isTruthy(value);
    }
  }
}

type ComparisonPredicate = Extract<Predicate, { kind: 'comparison' }>;

function compare(predicate: ComparisonPredicate, scope: ConditionScope): boolean {
  const { operator } = predicate;
  if (operator === 'matches') return matches(predicate, scope);
  let left = operand(predicate.left, scope);
  let right = operand(predicate.right, scope);
  if (isCategorical(predicate.left, scope) || isCategorical(predicate.right, scope)) {
    left = folded(left);
    right = folded(right);
  }
  switch (operator) {
    case '=':
      return equals(left, right);
    case '!=':
      return !equals(left, right);
    case 'contains':
      return left !== empty && right !== empty && contains(left, right);
    default:
      return ordered(operator, left, right, scope);
  }
}

function ordered(
  operator: '<' | '<=' | '>' | '>=',
  left: Operand,
  right: Operand,
  scope: ConditionScope,
): boolean {
  const sign = left === empty || right === empty ? undefined : order(left, right);
  if (sign === undefined) {
    scope.trouble?.(`cannot compare ${kindOf(left)} ${operator} ${kindOf(right)}`);
    return false;
  }
  if (operator === '<') return sign < 0;
  if (operator === '<=') return sign <= 0;
  return operator === '>' ? sign > 0 : sign >= 0;
}

function matches({ left, right }: ComparisonPredicate, scope: ConditionScope): boolean {
  const text = operand(left, scope);
  if (typeof text !== 'string') return false;
  if (right.kind === 'pattern') {
    return patternOf(right.source, right.flags).search(text, scope.trouble);
  }
  const source = operand(right, scope);
  if (typeof source !== 'string') return false;
  try {
    return patternOf(source).search(text, scope.trouble);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    scope.trouble?.(error.reason);
    return false;
  }
}

function operand(predicate: Predicate, scope: ConditionScope): Operand {
  switch (predicate.kind) {
    case 'literal':
      return predicate.value;
    case 'identifier':
      return resolve(predicate.name, scope);
    case 'constant':
      if (predicate.value === 'empty') return empty;
      if (predicate.value === 'undefined') return undefined;
      return predicate.value === 'null' ? null : predicate.value === 'true';
    case 'set':
      return predicate.items
        .map((item) => operand(item, scope))
        .filter((item) => item !== empty && item !== undefined);
    case 'pattern':
      return undefined;
    default:
      return evaluate(predicate, scope);
  }
}

/** `slots.a.b` and `context.a.b`; everything else is undefined. */
function resolve(name: string, scope: ConditionScope): Value {
  const [root, first, ...rest] = name.split('.');
  if (first === undefined) return undefined;
  let value: Value;
  if (root === 'slots') {
    value = member(scope.slots, first);
    if (value === undefined && scope.domain?.slots.has(first) === true) value = null;
  } else if (root === 'context') value = member(scope.context, first);
  return rest.reduce<Value>((of, key) => member(of, key), value);
}

function equals(left: Operand, right: Operand): boolean {
  if (left === empty) return isEmpty(right);
  return right === empty ? isEmpty(left) : isEqual(left, right);
}

function isEmpty(value: Operand): boolean {
  if (value === empty || value === undefined) return true;
  return (
    (typeof value === 'string' || typeof value === 'object') && value !== null && !isTruthy(value)
  );
}

function isCategorical(predicate: Predicate, scope: ConditionScope): boolean {
  if (predicate.kind !== 'identifier' || !predicate.name.startsWith('slots.')) return false;
  return scope.domain?.slots.get(predicate.name.slice(6))?.type === 'categorical';
}

function folded(value: Operand): Operand {
  if (typeof value === 'string') return value.toLowerCase();
  return Array.isArray(value)
    ? value.map((item: JsonValue) => (typeof item === 'string' ? item.toLowerCase() : item))
    : value;
}

function kindOf(value: Operand): string {
  if (value === empty) return 'empty';
  if (value === undefined) return 'undefined';
  return value === null || typeof value === 'boolean' ? toText(value) : `a ${typeof value}`;
}

const patterns = new BoundedCache<Pattern>(1_000);

/**
 * A compiled pattern, kept for the next evaluation.
 * @throws {PatternError} when the engine can't compile it.
 */
export function patternOf(source: string, flags = ''): Pattern {
  return patterns.get(`${flags}/${source}`, () => compilePattern(source, flags));
}
