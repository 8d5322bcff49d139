import { isJsonList, type JsonValue } from '../../protocol/index.ts';
import { filters } from './filters.ts';
import { methods } from './methods.ts';
import { type BinaryOperator, entriesOf, operate, range, slice, toOperand } from './operators.ts';
import { type Binding, type Evaluate, Macro, Namespace } from './rendering.ts';
import { describe, globals, type Tokens } from './tokens.ts';
import { type Call, isTruthy, member, type Operation, tests, toText, Tuple } from './value.ts';

/** A parsed expression. */
export interface Expression {
  /** The offset in the template, for errors while rendering. */
  readonly offset: number;
  readonly evaluate: Evaluate;
  /** `['a', 'b']` for `a.b`. */
  readonly path?: readonly string[];
  readonly literal?: JsonValue;
  /** The binding for `set` if it is not a plain value: a namespace. */
  readonly bind?: Evaluate<Binding>;
}

/** Each evaluation is one step of the rendering. */
function expression(offset: number, evaluate: Evaluate): Expression {
  return {
    offset,
    evaluate: (variables) => {
      variables.rendering.spend(1);
      return evaluate(variables);
    },
  };
}

const constants: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/** Keywords, which can't be names. */
const reserved = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else']);

/** Parses `a if b else c`, and everything that binds tighter. */
export function parseExpression(tokens: Tokens): Expression {
  return tokens.nested(() => {
    const { offset } = tokens.current;
    const yes = parseOr(tokens);
    if (!tokens.accept('if', 'name')) return yes;
    const condition = parseOr(tokens);
    const no = tokens.accept('else', 'name') ? parseExpression(tokens) : undefined;
    return expression(offset, (variables) =>
      (isTruthy(condition.evaluate(variables)) ? yes : no)?.evaluate(variables),
    );
  });
}

/** Parses `a` or, without parentheses, the tuple `a, b`. */
export function parseTuple(tokens: Tokens): Expression {
  const first = parseExpression(tokens);
  if (!tokens.is(',')) return first;
  const items = [first];
  while (tokens.accept(',') && tokens.current.kind !== 'end') items.push(parseExpression(tokens));
  return tuple(items, first.offset);
}

/** Parses an expression without `x if y`, such as the one between `in` and `if` of a loop. */
export function parseOr(tokens: Tokens): Expression {
  return parseLeft(tokens, ['or'], () => parseLeft(tokens, ['and'], () => parseNot(tokens)));
}

function parseLeft(
  tokens: Tokens,
  operators: readonly BinaryOperator[],
  operand: () => Expression,
): Expression {
  let left = operand();
  for (;;) {
    const operator = operators.find(
      (one) => tokens.is(one) || (/^[a-z]/.test(one) && tokens.is(one, 'name')),
    );
    if (operator === undefined) return left;
    const { offset } = tokens.take();
    left = binary(operator, left, operand(), offset);
  }
}

function binary(
  operator: BinaryOperator,
  left: Expression,
  right: Expression,
  offset: number,
): Expression {
  return expression(offset, (variables) => {
    const first = left.evaluate(variables);
    if (operator === 'and' || operator === 'or') {
      return isTruthy(first) === (operator === 'or') ? first : right.evaluate(variables);
    }
    const second = right.evaluate(variables);
    variables.rendering.offset = offset;
    return operate(operator, first, second, variables.rendering);
  });
}

function parseNot(tokens: Tokens): Expression {
  if (!tokens.is('not', 'name')) return parseComparison(tokens);
  const { offset } = tokens.take();
  const of = tokens.nested(() => parseNot(tokens));
  return expression(offset, (variables) => !isTruthy(of.evaluate(variables)));
}

const comparisons = ['==', '!=', '<', '<=', '>', '>='] as const;

/** `a < b < c` means `a < b and b < c`. */
function parseComparison(tokens: Tokens): Expression {
  let left = parseSum(tokens);
  let result: Expression | undefined;
  for (;;) {
    const { offset } = tokens.current;
    const operator = comparisonOperator(tokens);
    if (operator === undefined) return result ?? left;
    const right = parseSum(tokens);
    const comparison = binary(operator, left, right, offset);
    result = result === undefined ? comparison : binary('and', result, comparison, offset);
    left = right;
  }
}

function comparisonOperator(tokens: Tokens): BinaryOperator | undefined {
  if (tokens.accept('in', 'name')) return 'in';
  if (tokens.is('not', 'name') && tokens.peek().value === 'in') {
    tokens.take();
    tokens.take();
    return 'not in';
  }
  return comparisons.find((operator) => tokens.accept(operator));
}

function parseSum(tokens: Tokens): Expression {
  const power = () => parseLeft(tokens, ['**'], () => parseUnary(tokens));
  const product = () => parseLeft(tokens, ['*', '/', '//', '%'], power);
  const joined = () => parseLeft(tokens, ['~'], product);
  return parseLeft(tokens, ['+', '-'], joined);
}

/** A sign binds tighter than filters: `-3 | abs` is 3. */
function parseUnary(tokens: Tokens): Expression {
  return parseFilters(tokens, parseSigned(tokens));
}

function parseSigned(tokens: Tokens): Expression {
  if (tokens.accept('+')) return tokens.nested(() => parseSigned(tokens));
  if (!tokens.is('-')) return parsePostfix(tokens);
  const { offset } = tokens.take();
  const of = tokens.nested(() => parseSigned(tokens));
  return expression(offset, (variables) => {
    const value = of.evaluate(variables);
    variables.rendering.offset = offset;
    return -toOperand(value);
  });
}

/** Maximum number of suffixes on one value, so that evaluating it can't exhaust the call stack. */
const maximumSuffixes = 200;

/** Parses a value with any number of `.name`, `[key]` and `.method(...)`. */
function parsePostfix(tokens: Tokens): Expression {
  let of = parsePrimary(tokens);
  for (let count = 0; ; count += 1) {
    if (count > maximumSuffixes) tokens.fail('too many accesses and filters on one value');
    const { offset } = tokens.current;
    if (tokens.accept('.')) of = parseDot(tokens, of, offset);
    else if (tokens.accept('[')) of = parseIndex(tokens, of, offset);
    else if (tokens.is('(') && of.path?.length === 1) of = parseCall(tokens, of);
    else if (tokens.is('(')) tokens.fail('only macros and the methods of values can be called');
    else {
      tokens.names.read(of.path);
      return of;
    }
  }
}

/** Parses any number of `| filter` and `is test`. */
export function parseFilters(tokens: Tokens, first: Expression): Expression {
  let of = first;
  for (let count = 0; ; count += 1) {
    if (count > maximumSuffixes) tokens.fail('too many accesses and filters on one value');
    const { offset } = tokens.current;
    if (tokens.accept('|')) of = parseFilter(tokens, of, offset);
    else if (tokens.accept('is', 'name')) of = parseTest(tokens, of, offset);
    else return of;
  }
}

/** Parses the name of a filter and its arguments, after the `|`. */
export function parseFilter(tokens: Tokens, of: Expression, offset: number): Expression {
  return applied(known(tokens, 'filter', filters), of, parseArguments(tokens), offset);
}

function parseTest(tokens: Tokens, subject: Expression, offset: number): Expression {
  const isNegated = tokens.accept('not', 'name');
  const test = known(tokens, 'test', tests);
  const argumentsOf = parseTestArguments(tokens);
  return expression(offset, (variables) => {
    const { rendering } = variables;
    const value = subject.evaluate(variables);
    const { positional } = argumentsOf(variables);
    if (positional.length > 0) rendering.spend(rendering.size(value));
    rendering.offset = offset;
    return test(value, positional[0]) !== isNegated;
  });
}

function known<T>(tokens: Tokens, what: string, table: Readonly<Record<string, T>>): T {
  const { offset } = tokens.current;
  const name = tokens.expectName(`the name of a ${what}`);
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  return found ?? tokens.fail(`no ${what} named ${name}`, offset);
}

/** Applies a filter or method to a value. */
function applied(
  operation: Operation,
  of: Expression,
  argumentsOf: Evaluate<Call>,
  offset: number,
): Expression {
  return expression(offset, (variables) => {
    const { rendering } = variables;
    const value = of.evaluate(variables);
    const call = argumentsOf(variables);
    rendering.spend(rendering.size(value));
    rendering.offset = offset;
    return rendering.bounded(operation(value, call));
  });
}

function parseDot(tokens: Tokens, of: Expression, offset: number): Expression {
  if (tokens.current.kind === 'number') {
    return memberOf(of, literal(Number(tokens.take().value), offset), offset);
  }
  const { offset: at } = tokens.current;
  const name = tokens.expectName('a name after the dot');
  if (!tokens.is('(')) return memberOf(of, literal(name, offset), offset);
  tokens.names.read(of.path);
  if (name === 'append') return append(of, parseArguments(tokens), offset);
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (method === undefined) return tokens.fail(`no method named ${name}`, at);
  return applied(method, of, parseArguments(tokens), offset);
}

function memberOf(of: Expression, key: Expression, offset: number): Expression {
  const access = expression(offset, (variables) =>
    member(of.evaluate(variables), key.evaluate(variables)),
  );
  if (of.path === undefined || key.literal === undefined) return access;
  return { ...access, path: [...of.path, toText(key.literal)] };
}

function parseIndex(tokens: Tokens, of: Expression, offset: number): Expression {
  const part = () =>
    tokens.is(':') || tokens.is(']') ? undefined : tokens.nested(() => parseExpression(tokens));
  const from = part();
  if (from !== undefined && tokens.accept(']')) {
    if (from.literal === undefined) tokens.names.read(of.path);
    return memberOf(of, from, offset);
  }
  tokens.names.read(of.path);
  tokens.expect(':');
  const to = part();
  const step = tokens.accept(':') ? part() : undefined;
  tokens.expect(']');
  return expression(offset, (variables) => {
    const value = of.evaluate(variables);
    const [first, last, by = 1] = [from, to, step].map((one) => {
      const number = one?.evaluate(variables);
      return typeof number === 'number' ? Math.trunc(number) : undefined;
    });
    variables.rendering.offset = offset;
    return slice(value, { first, last, by }, variables.rendering);
  });
}

/** Parses a call of a macro, or of `range`, `dict` or `namespace`. */
function parseCall(tokens: Tokens, { path, offset }: Expression): Expression {
  const name = path?.[0] ?? '';
  tokens.names.call(name, offset);
  const argumentsOf = parseArguments(tokens);
  const call = expression(offset, (variables) => {
    const { rendering } = variables;
    if (!globals.has(name) || variables.holder(name) !== undefined) {
      const macro = variables.macro(name, offset);
      return macro.call(argumentsOf(variables));
    }
    const given = argumentsOf(variables);
    rendering.offset = offset;
    return name === 'range' ? range(given, rendering) : Object.fromEntries(entriesOf(given));
  });
  if (name !== 'namespace') return call;
  return { ...call, bind: (variables) => new Namespace(entriesOf(argumentsOf(variables))) };
}

const appendHelp = 'append works on a variable or on a list of a namespace';

/**
 * `names.append(x)`. Values are immutable: the variable gets a longer list, so that no list can contain
 * itself.
 */
function append(of: Expression, argumentsOf: Evaluate<Call>, offset: number): Expression {
  return expression(offset, (variables) => {
    const { rendering } = variables;
    const list = of.evaluate(variables);
    const { positional } = argumentsOf(variables);
    rendering.offset = offset;
    if (!isJsonList(list)) throw new RangeError('append needs a list');
    const longer = rendering.bounded([...list, positional[0] ?? null]);
    const [name, key, ...deeper] = of.path ?? [];
    if (name === undefined || deeper.length > 0) throw new RangeError(appendHelp);
    if (key === undefined) (variables.holder(name) ?? variables).set(name, longer);
    else variables.namespace(name, appendHelp).values.set(key, longer);
    return null;
  });
}

/** `is divisibleby 3`: the argument needs no parentheses. */
function parseTestArguments(tokens: Tokens): Evaluate<Call> {
  const { kind, value } = tokens.current;
  const isOperand =
    kind === 'number' ||
    kind === 'text' ||
    (kind === 'name' && !reserved.has(value)) ||
    (kind === 'operator' && (value === '[' || value === '{'));
  if (!isOperand) return parseArguments(tokens);
  return callWith([parsePostfix(tokens)], new Map());
}

/** Parses arguments in parentheses; none without parentheses. */
export function parseArguments(tokens: Tokens): Evaluate<Call> {
  const positional: Expression[] = [];
  const named = new Map<string, Expression>();
  if (!tokens.accept('(')) return callWith(positional, named);
  while (!tokens.is(')')) {
    if (tokens.current.kind === 'name' && tokens.peek().value === '=') {
      const name = tokens.take().value;
      tokens.take();
      named.set(name, parseExpression(tokens));
    } else positional.push(parseExpression(tokens));
    if (!tokens.accept(',')) break;
  }
  tokens.expect(')');
  return callWith(positional, named);
}

function callWith(
  positional: readonly Expression[],
  named: ReadonlyMap<string, Expression>,
): Evaluate<Call> {
  return (variables) => {
    const { rendering } = variables;
    const { spend } = rendering;
    const call = {
      positional: positional.map((one) => one.evaluate(variables)),
      named: new Map([...named].map(([name, one]) => [name, one.evaluate(variables)])),
      spend,
    };
    for (const value of [...call.positional, ...call.named.values()]) spend(rendering.size(value));
    return call;
  };
}

function parsePrimary(tokens: Tokens): Expression {
  const { kind, value, offset } = tokens.current;
  if (kind === 'number') {
    tokens.take();
    return literal(Number(value.replaceAll('_', '')), offset);
  }
  if (kind === 'text') {
    let text = tokens.take().value;
    // Adjacent strings are concatenated.
    while (tokens.current.kind === 'text') text += tokens.take().value;
    return literal(text, offset);
  }
  if (kind === 'name' && !reserved.has(value)) {
    tokens.take();
    const constant = constants.get(value);
    return constant === undefined ? variable(value, offset) : literal(constant, offset);
  }
  if (tokens.accept('(')) return parseParenthesised(tokens, offset);
  if (tokens.accept('[')) {
    const items = parseItems(tokens, ']');
    return expression(offset, (variables) => items.map((one) => one.evaluate(variables) ?? null));
  }
  if (tokens.accept('{')) return parseMapping(tokens, offset);
  return tokens.fail(`expected a value, found ${describe(tokens.current)}`);
}

function literal(value: JsonValue, offset: number): Expression {
  return { ...expression(offset, () => value), literal: value };
}

function variable(name: string, offset: number): Expression {
  const lookUp = expression(offset, (variables) => {
    const found = variables.get(name);
    // As a value, a namespace is a copy, so that no value can contain itself.
    if (found instanceof Namespace) return Object.fromEntries(found.values);
    return found instanceof Macro ? true : found;
  });
  return { ...lookUp, path: [name] };
}

function tuple(items: readonly Expression[], offset: number): Expression {
  return expression(offset, (variables) =>
    Tuple.make(items.map((item) => item.evaluate(variables) ?? null)),
  );
}

/** `(a)` is a, `(a, b)` and `(a,)` are tuples. */
function parseParenthesised(tokens: Tokens, offset: number): Expression {
  const isEmpty = tokens.is(')');
  const first = isEmpty ? undefined : parseExpression(tokens);
  if (first !== undefined && tokens.accept(')')) return first;
  if (first !== undefined) tokens.expect(',');
  const items = parseItems(tokens, ')');
  return tuple(first === undefined ? items : [first, ...items], offset);
}

function parseItems(tokens: Tokens, close: string): Expression[] {
  const items: Expression[] = [];
  while (!tokens.is(close)) {
    items.push(parseExpression(tokens));
    if (!tokens.accept(',')) break;
  }
  tokens.expect(close);
  return items;
}

function parseMapping(tokens: Tokens, offset: number): Expression {
  const entries: { key: Expression; value: Expression }[] = [];
  while (!tokens.is('}')) {
    const key = parseExpression(tokens);
    tokens.expect(':');
    entries.push({ key, value: parseExpression(tokens) });
    if (!tokens.accept(',')) break;
  }
  tokens.expect('}');
  return expression(offset, (variables) =>
    Object.fromEntries(
      entries.map(({ key, value }) => [
        toText(key.evaluate(variables)),
        value.evaluate(variables) ?? null,
      ]),
    ),
  );
}
