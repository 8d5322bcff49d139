import { TextError } from '../../config/index.ts';
import { type JsonObject, type JsonValue, LruMap } from '../../protocol/index.ts';
import { PatternError } from '../../regex/index.ts';
import type { Domain } from '../model.ts';
import { compileTemplate, evaluateExpression, type Template } from '../templates/template.ts';
import {
  contains,
  isEqual,
  isTruthy,
  member,
  order,
  toText,
  type Value,
} from '../templates/value.ts';
import {
  type Comparison,
  type ConditionWarning,
  type Constant,
  parseCondition,
  patternOf,
  type Predicate,
  type UnsupportedPattern,
} from './parse.ts';

/** A parsed condition. It is immutable. */
export interface Condition {
  readonly text: string;
  readonly references: ConditionReferences;
  readonly warnings: readonly ConditionWarning[];
  /**
   * If there is one, the whole condition is false, because neither it nor its negation can be evaluated.
   */
  readonly unsupported: readonly UnsupportedPattern[];
  /** @throws {TextError} only for a condition with `{{...}}`, if an expression in it fails. */
  evaluate(scope: ConditionScope): boolean;
}

/** The names in a condition, for validation; `offset` is the position in the condition. */
export interface ConditionReferences {
  /** Slots of the domain, without the prefix `slots.` */
  readonly slots: readonly string[];
  /** Properties of the frame, without the prefix `context.` */
  readonly context: readonly string[];
  /** Names with neither prefix: slots in the syntax of Rasa 3.7, otherwise always undefined. */
  readonly unprefixed: readonly { readonly name: string; readonly offset: number }[];
  /** Comparisons of a slot with a literal or constant. */
  readonly comparisons: readonly SlotComparison[];
}

export interface SlotComparison {
  readonly slot: string;
  readonly operator: Comparison;
  readonly literal: string | number | { readonly constant: Constant };
  readonly offset: number;
}

const conditions = new LruMap<Condition>(2_000);

/**
 * Parses a condition such as `slots.amount > 100 and not slots.confirmed`; parsed conditions are cached.
 * `{{context.x}}` in it is evaluated each time: alone as a value, in a text as part of the text, and in a
 * name or pattern as part of that. Whatever the value, it changes nothing else in the condition.
 * @example compileCondition('slots.age >= 18').evaluate({ slots: { age: 20 } }) // true
 * @throws {TextError} with the position of the error.
 */
export function compileCondition(text: string): Condition {
  return conditions.getOrMake(text, () => (text.includes('{{') ? templated(text) : plain(text)));
}

function plain(text: string): Condition {
  const { predicate, warnings, unsupported } = parseCondition(text);
  return {
    text,
    references: referencesOf(predicate),
    warnings,
    unsupported,
    evaluate: unsupported.length > 0 ? () => false : (scope) => evaluate(predicate, scope),
  };
}

/**
 * Stands for `{{...}}` in the parsed condition: a mark of two letters, padded to the length of the
 * expression, so that positions in the condition stay valid.
 */
const placeholder = /(\uA723.)\uA725*/g;
const onlyPlaceholder = /^(\uA723.)\uA725*$/;
const placeholderStart = '\uA723';

function templated(text: string): Condition {
  const template = compileTemplate(text);
  const expressions = new Map<string, string>();
  const checked = text.replace(/\{\{-?(.*?)[-+]?\}\}/gs, ({ length }, expression: string) => {
    const mark = placeholderStart + String.fromCharCode(0x4e_00 + expressions.size);
    // In parentheses, like in a template, it can be a tuple.
    expressions.set(mark, `(${expression})`);
    return mark.padEnd(length, '\uA725');
  });
  const { predicate, warnings, unsupported } = parseCondition(checked);
  const found = referencesOf(predicate);
  const isStatic = (name: string) => !name.includes(placeholderStart);
  return {
    text,
    references: {
      slots: found.slots.filter(isStatic),
      context: [...found.context.filter(isStatic), ...contextNames(template)],
      unprefixed: found.unprefixed.filter(({ name }) => isStatic(name)),
      comparisons: found.comparisons.filter(
        ({ slot, literal }) => isStatic(slot) && (typeof literal !== 'string' || isStatic(literal)),
      ),
    },
    warnings,
    unsupported,
    evaluate: (scope) => {
      const { slots, context = {} } = scope;
      const rendered = new Map<string, Value>();
      for (const [mark, expression] of expressions) {
        rendered.set(mark, evaluateExpression(expression, { slots, context }));
      }
      return unsupported.length === 0 && evaluate(predicate, { ...scope, rendered });
    },
  };
}

/** Replaces placeholders in a text, name or pattern of the condition by their values. */
function filled(text: string, { rendered }: EvaluationScope): string {
  if (rendered === undefined) return text;
  return text.replace(placeholder, (written, mark: string) =>
    rendered.has(mark) ? toText(rendered.get(mark)) : written,
  );
}

function contextNames(template: Template): readonly string[] {
  return template.references
    .filter((path) => path.startsWith('context.'))
    .map((path) => path.split('.')[1] ?? '');
}

function referencesOf(predicate: Predicate): ConditionReferences {
  const slots = new Set<string>();
  const context = new Set<string>();
  const unprefixed: { name: string; offset: number }[] = [];
  const comparisons: SlotComparison[] = [];
  const pending = [predicate];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (at.kind === 'identifier') {
      const [root, name] = at.name.split('.');
      if (root === 'slots' && name !== undefined) slots.add(name);
      else if (root === 'context' && name !== undefined) context.add(name);
      else unprefixed.push({ name: at.name, offset: at.offset });
    } else if (at.kind === 'comparison') {
      comparisons.push(...comparisonsOf(at));
      pending.push(at.right, at.left);
    } else if (at.kind === 'logic') pending.push(at.right, at.left);
    else if (at.kind === 'not') pending.push(at.of);
    else if (at.kind === 'set') pending.push(...at.items);
  }
  return { slots: [...slots], context: [...context], unprefixed, comparisons };
}

/** Only comparisons of whole values: patterns and parts of texts can be anything. */
function comparisonsOf({
  left,
  right,
  operator,
}: Extract<Predicate, { kind: 'comparison' }>): readonly SlotComparison[] {
  const slot = [left, right].map(slotOf).find((name) => name !== undefined);
  if (slot === undefined || operator === 'matches') return [];
  const others = operator === 'contains' ? (left.kind === 'set' ? left.items : []) : [left, right];
  return others.flatMap((item): SlotComparison[] => {
    const { offset } = item;
    if (item.kind === 'literal') return [{ slot, operator, literal: item.value, offset }];
    if (item.kind !== 'constant') return [];
    return [{ slot, operator, literal: { constant: item.value }, offset }];
  });
}

/** The slot itself, not a part of its value. */
function slotOf(predicate: Predicate): string | undefined {
  if (predicate.kind !== 'identifier') return undefined;
  const [root, name, ...rest] = predicate.name.split('.');
  return root === 'slots' && rest.length === 0 ? name : undefined;
}

/** A pattern for the values of a slot, as written in the project. */
export interface ValuePattern {
  readonly source: string;
  readonly flags: string;
}

/** The pattern of a rejection that rejects all other values: `not slots.code matches "^A\\d+$"`. */
export function requiredPattern(rejection: string, slot: string): ValuePattern | undefined {
  if (!rejection.includes('matches')) return undefined;
  const predicate = parsed(rejection);
  const refused = predicate?.kind === 'not' ? predicate.of : undefined;
  if (refused?.kind !== 'comparison' || refused.operator !== 'matches') return undefined;
  const { left, right } = refused;
  if (left.kind !== 'identifier' || left.name !== `slots.${slot}`) return undefined;
  if (right.kind === 'pattern') return { source: right.source, flags: right.flags };
  return right.kind === 'literal' ? { source: String(right.value), flags: '' } : undefined;
}

/** The pattern in the description of a collect step: `Order number, pattern: /^A\\d+$/i`. */
export function describedPattern(
  description: string,
): (ValuePattern & { readonly offset: number }) | undefined {
  const found = /\bpattern:?\s*\/(.+?)(?<!\\)\/([a-z]*)/i.exec(description);
  if (found === null) return undefined;
  const [whole, source = '', flags = ''] = found;
  return { source, flags, offset: found.index + whole.indexOf('/') + 1 };
}

function parsed(condition: string): Predicate | undefined {
  try {
    return parseCondition(condition).predicate;
  } catch (error) {
    if (error instanceof TextError) return undefined;
    throw error;
  }
}

/** The variables of a condition. */
export interface ConditionScope {
  /** Keyed by name; a slot without a value is null. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** Properties of the current dialogue frame. */
  readonly context?: JsonObject;
  /** Makes comparisons with categorical slots case-insensitive. */
  readonly domain?: Pick<Domain, 'slots'>;
  /** Called for comparisons that can't be evaluated and therefore are false. */
  readonly trouble?: (reason: string) => void;
}

interface EvaluationScope extends ConditionScope {
  /** The values of `{{...}}`, by the marks of their placeholders. */
  readonly rendered?: ReadonlyMap<string, Value>;
}

/** Equals every empty value. It is not a JSON value, hence a symbol. */
const empty = Symbol('empty');
type Operand = Value | typeof empty;

function evaluate(predicate: Predicate, scope: EvaluationScope): boolean {
  switch (predicate.kind) {
    case 'logic': {
      // Right-folded chains are evaluated in a loop, so that their length costs no stack.
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

function compare(predicate: ComparisonPredicate, scope: EvaluationScope): boolean {
  const { operator } = predicate;
  if (operator === 'matches') return matches(predicate, scope);
  let left = comparedWith(predicate.right, operand(predicate.left, scope));
  let right = comparedWith(predicate.left, operand(predicate.right, scope));
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

/**
 * Models and buttons fill text slots with "True" and "false". Projects compare them with `true` and
 * `false`.
 */
function comparedWith(other: Predicate, value: Operand): Operand {
  if (other.kind !== 'constant' || typeof value !== 'string') return value;
  const isTruth = other.value === 'true' || other.value === 'false';
  return isTruth && value.toLowerCase() === other.value ? other.value === 'true' : value;
}

function ordered(
  operator: '<' | '<=' | '>' | '>=',
  left: Operand,
  right: Operand,
  scope: EvaluationScope,
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

function matches({ left, right }: ComparisonPredicate, scope: EvaluationScope): boolean {
  const text = operand(left, scope);
  if (typeof text !== 'string') return false;
  const isPattern = right.kind === 'pattern';
  const source = isPattern ? filled(right.source, scope) : operand(right, scope);
  if (typeof source !== 'string') return false;
  try {
    return patternOf(source, isPattern ? right.flags : '').search(text, scope.trouble);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    scope.trouble?.(error.reason);
    return false;
  }
}

function operand(predicate: Predicate, scope: EvaluationScope): Operand {
  switch (predicate.kind) {
    case 'literal':
      return typeof predicate.value === 'string' ? filled(predicate.value, scope) : predicate.value;
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

/**
 * Resolves `slots.a.b` and `context.a.b`. A name without a prefix is a slot, like before Rasa 3.8, or
 * undefined. `{{...}}` alone is its value, never the name of a slot.
 */
function resolve(written: string, scope: EvaluationScope): Value {
  const [, mark = ''] = onlyPlaceholder.exec(written) ?? [];
  if (scope.rendered?.has(mark) === true) return asConstant(scope.rendered.get(mark));
  const name = filled(written, scope);
  const isContext = name.startsWith('context.');
  const [first = '', ...rest] = name.replace(/^(?:slots|context)\./, '').split('.');
  let value: Value = member(isContext ? scope.context : scope.slots, first);
  if (value === undefined && !isContext && scope.domain?.slots.has(first) === true) value = null;
  return rest.reduce<Value>((of, key) => member(of, key), value);
}

/** Rasa reads what `{{...}}` renders as source: a text that is a number or a boolean becomes one. */
function asConstant(value: Value): Value {
  if (typeof value !== 'string') return value;
  if (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  const lower = value.toLowerCase();
  return lower === 'true' || lower === 'false' ? lower === 'true' : value;
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

function isCategorical(predicate: Predicate, scope: EvaluationScope): boolean {
  if (predicate.kind !== 'identifier') return false;
  const name = filled(predicate.name, scope).replace(/^slots\./, '');
  return scope.domain?.slots.get(name)?.type === 'categorical';
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
