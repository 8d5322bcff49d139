import type { JsonValue } from '../../protocol/index.ts';
import { filters } from './filters.ts';
import { methods } from './methods.ts';
import type { Arguments, BinaryOperator, Expression } from './syntax.ts';
import { describe, type Tokens } from './tokens.ts';
import { tests } from './value.ts';

const constants: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/** Words of the language, which therefore cannot be names. */
const reserved = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else']);

/** `a if b else c`, and everything that binds tighter. */
export function parseExpression(tokens: Tokens): Expression {
  return tokens.nested(() => {
    const { offset } = tokens.current;
    const yes = parseOr(tokens);
    if (!tokens.accept('if', 'name')) return yes;
    const condition = parseOr(tokens);
    const no = tokens.accept('else', 'name') ? parseExpression(tokens) : undefined;
    return { kind: 'choice', condition, yes, no, offset };
  });
}

/** An expression without `x if y`: what stands between `in` and `if` of a loop. */
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
    left = { kind: 'binary', operator, left, right: operand(), offset };
  }
}

function parseNot(tokens: Tokens): Expression {
  if (!tokens.is('not', 'name')) return parseComparison(tokens);
  const { offset } = tokens.take();
  return { kind: 'not', of: tokens.nested(() => parseNot(tokens)), offset };
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
    const comparison: Expression = { kind: 'binary', operator, left, right, offset };
    result =
      result === undefined
        ? comparison
        : { kind: 'binary', operator: 'and', left: result, right: comparison, offset };
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
  return { kind: 'minus', of: tokens.nested(() => parseSigned(tokens)), offset };
}

/** On one value, so that evaluating it cannot exhaust the call stack. */
const maximumSuffixes = 200;

/** `.name`, `[key]` and `.method(...)`, in any number. */
function parsePostfix(tokens: Tokens): Expression {
  let of = parsePrimary(tokens);
  for (let count = 0; ; count += 1) {
    if (count > maximumSuffixes) tokens.fail('too many accesses and filters on one value');
    const { offset } = tokens.current;
    if (tokens.accept('.')) of = parseDot(tokens, of, offset);
    else if (tokens.accept('[')) of = parseIndex(tokens, of, offset);
    else if (tokens.is('(') && of.kind === 'name') {
      of = { kind: 'call', name: of.name, arguments: parseArguments(tokens), offset: of.offset };
    } else if (tokens.is('(')) tokens.fail('only macros and the methods of values can be called');
    else return of;
  }
}

/** `| filter` and `is test`, in any number. */
export function parseFilters(tokens: Tokens, first: Expression): Expression {
  let of = first;
  for (let count = 0; ; count += 1) {
    if (count > maximumSuffixes) tokens.fail('too many accesses and filters on one value');
    const { offset } = tokens.current;
    if (tokens.accept('|')) of = parseFilter(tokens, of, offset);
    else if (tokens.accept('is', 'name')) {
      const negated = tokens.accept('not', 'name');
      const name = known(tokens, 'test', tests);
      of = { kind: 'test', of, name, negated, arguments: parseTestArguments(tokens), offset };
    } else return of;
  }
}

/** The name of a filter and its arguments, without the `|` before it. */
export function parseFilter(tokens: Tokens, of: Expression, offset: number): Expression {
  const name = known(tokens, 'filter', filters);
  return { kind: 'filter', of, name, arguments: parseArguments(tokens), offset };
}

function known(tokens: Tokens, what: string, table: Readonly<Record<string, unknown>>): string {
  const { offset } = tokens.current;
  const name = tokens.expectName(`the name of a ${what}`);
  return Object.hasOwn(table, name) ? name : tokens.fail(`no ${what} named ${name}`, offset);
}

function parseDot(tokens: Tokens, of: Expression, offset: number): Expression {
  if (tokens.current.kind === 'number') {
    const key = Number(tokens.take().value);
    return { kind: 'member', of, key: { kind: 'literal', value: key, offset }, offset };
  }
  const { offset: at } = tokens.current;
  const name = tokens.expectName('a name after the dot');
  if (tokens.is('(')) {
    if (!Object.hasOwn(methods, name)) tokens.fail(`no method named ${name}`, at);
    return { kind: 'method', of, name, arguments: parseArguments(tokens), offset };
  }
  return { kind: 'member', of, key: { kind: 'literal', value: name, offset }, offset };
}

function parseIndex(tokens: Tokens, of: Expression, offset: number): Expression {
  const part = () =>
    tokens.is(':') || tokens.is(']') ? undefined : tokens.nested(() => parseExpression(tokens));
  const from = part();
  if (from !== undefined && tokens.accept(']')) return { kind: 'member', of, key: from, offset };
  tokens.expect(':');
  const to = part();
  const step = tokens.accept(':') ? part() : undefined;
  tokens.expect(']');
  return { kind: 'slice', of, from, to, step, offset };
}

/** `is divisibleby 3` has its argument without parentheses. */
function parseTestArguments(tokens: Tokens): Arguments {
  const { kind, value } = tokens.current;
  const isOperand =
    kind === 'number' ||
    kind === 'text' ||
    (kind === 'name' && !reserved.has(value)) ||
    (kind === 'operator' && (value === '[' || value === '{'));
  if (!isOperand) return parseArguments(tokens);
  return { positional: [parsePostfix(tokens)], named: new Map() };
}

/** Empty when there are no parentheses. */
export function parseArguments(tokens: Tokens): Arguments {
  const positional: Expression[] = [];
  const named = new Map<string, Expression>();
  if (!tokens.accept('(')) return { positional, named };
  while (!tokens.is(')')) {
    if (tokens.current.kind === 'name' && tokens.peek().value === '=') {
      const name = tokens.take().value;
      tokens.take();
      named.set(name, parseExpression(tokens));
    } else positional.push(parseExpression(tokens));
    if (!tokens.accept(',')) break;
  }
  tokens.expect(')');
  return { positional, named };
}

function parsePrimary(tokens: Tokens): Expression {
  const { kind, value, offset } = tokens.current;
  if (kind === 'number') {
    tokens.take();
    return { kind: 'literal', value: Number(value.replaceAll('_', '')), offset };
  }
  if (kind === 'text') {
    let text = tokens.take().value;
    // Texts side by side are one text.
    while (tokens.current.kind === 'text') text += tokens.take().value;
    return { kind: 'literal', value: text, offset };
  }
  if (kind === 'name' && !reserved.has(value)) {
    tokens.take();
    const constant = constants.get(value);
    return constant === undefined
      ? { kind: 'name', name: value, offset }
      : { kind: 'literal', value: constant, offset };
  }
  if (tokens.accept('(')) return parseParenthesised(tokens, offset);
  if (tokens.accept('[')) return { kind: 'list', items: parseItems(tokens, ']'), offset };
  if (tokens.accept('{')) return parseMapping(tokens, offset);
  return tokens.fail(`expected a value, found ${describe(tokens.current)}`);
}

/** `(a)` is a, `(a, b)` and `(a,)` are tuples. */
function parseParenthesised(tokens: Tokens, offset: number): Expression {
  const isEmpty = tokens.is(')');
  const first = isEmpty ? undefined : parseExpression(tokens);
  if (first !== undefined && tokens.accept(')')) return first;
  if (first !== undefined) tokens.expect(',');
  const items = parseItems(tokens, ')');
  return { kind: 'tuple', items: first === undefined ? items : [first, ...items], offset };
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
  return { kind: 'mapping', entries, offset };
}
