import type { JsonValue } from '../../protocol/index.ts';
import { describe, type Tokens } from './tokens.ts';

export type BinaryOperator =
  | 'and'
  | 'or'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'in'
  | 'not in'
  | '~'
  | '+'
  | '-'
  | '*'
  | '/'
  | '//'
  | '%';

export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: ReadonlyMap<string, Expression>;
}

/** `offset` is where the part stands in the template, for errors while rendering. */
export type Expression = { readonly offset: number } & (
  | { readonly kind: 'literal'; readonly value: JsonValue }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | {
      readonly kind: 'mapping';
      readonly entries: readonly { readonly key: Expression; readonly value: Expression }[];
    }
  | { readonly kind: 'member'; readonly of: Expression; readonly key: Expression }
  | {
      readonly kind: 'slice';
      readonly of: Expression;
      readonly from: Expression | undefined;
      readonly to: Expression | undefined;
    }
  | {
      readonly kind: 'method';
      readonly of: Expression;
      readonly name: string;
      readonly arguments: Arguments;
    }
  | {
      readonly kind: 'filter';
      readonly of: Expression;
      readonly name: string;
      readonly arguments: Arguments;
    }
  | {
      readonly kind: 'test';
      readonly of: Expression;
      readonly name: string;
      readonly negated: boolean;
      readonly arguments: Arguments;
    }
  | { readonly kind: 'not'; readonly of: Expression }
  | { readonly kind: 'minus'; readonly of: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'choice';
      readonly condition: Expression;
      readonly yes: Expression;
      readonly no: Expression | undefined;
    }
);

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
  const product = () => parseLeft(tokens, ['*', '/', '//', '%'], () => parseUnary(tokens));
  const joined = () => parseLeft(tokens, ['~'], product);
  return parseLeft(tokens, ['+', '-'], joined);
}

function parseUnary(tokens: Tokens): Expression {
  if (tokens.accept('+')) return tokens.nested(() => parseUnary(tokens));
  if (!tokens.is('-')) return parseSuffixes(tokens);
  const { offset } = tokens.take();
  return { kind: 'minus', of: tokens.nested(() => parseUnary(tokens)), offset };
}

/** `.name`, `[key]`, `.method(...)`, `| filter` and `is test`, in any number. */
function parseSuffixes(tokens: Tokens): Expression {
  let of = parsePrimary(tokens);
  for (let count = 0; ; count += 1) {
    if (count > 200) tokens.fail('too many accesses and filters on one value');
    const { offset } = tokens.current;
    if (tokens.accept('.')) of = parseDot(tokens, of, offset);
    else if (tokens.accept('[')) of = parseIndex(tokens, of, offset);
    else if (tokens.accept('|')) {
      const name = tokens.expectName('the name of a filter');
      of = { kind: 'filter', of, name, arguments: parseOptionalArguments(tokens), offset };
    } else if (tokens.accept('is', 'name')) {
      const negated = tokens.accept('not', 'name');
      const name = tokens.expectName('the name of a test');
      of = { kind: 'test', of, name, negated, arguments: parseTestArguments(tokens), offset };
    } else if (tokens.is('(')) {
      tokens.fail('only the methods of values can be called');
    } else return of;
  }
}

function parseDot(tokens: Tokens, of: Expression, offset: number): Expression {
  if (tokens.current.kind === 'number') {
    const key = Number(tokens.take().value);
    return { kind: 'member', of, key: { kind: 'literal', value: key, offset }, offset };
  }
  const name = tokens.expectName('a name after the dot');
  if (tokens.is('(')) {
    return { kind: 'method', of, name, arguments: parseOptionalArguments(tokens), offset };
  }
  return { kind: 'member', of, key: { kind: 'literal', value: name, offset }, offset };
}

function parseIndex(tokens: Tokens, of: Expression, offset: number): Expression {
  const from = tokens.is(':') ? undefined : parseExpression(tokens);
  if (tokens.accept(':')) {
    const to = tokens.is(']') ? undefined : parseExpression(tokens);
    tokens.expect(']');
    return { kind: 'slice', of, from, to, offset };
  }
  tokens.expect(']');
  return { kind: 'member', of, key: from as Expression, offset };
}

/** `is divisibleby 3` has its argument without parentheses. */
function parseTestArguments(tokens: Tokens): Arguments {
  const { kind, value } = tokens.current;
  const isOperand =
    kind === 'number' || kind === 'text' || (kind === 'name' && !reserved.has(value));
  if (!isOperand) return parseOptionalArguments(tokens);
  return { positional: [parsePrimary(tokens)], named: new Map() };
}

function parseOptionalArguments(tokens: Tokens): Arguments {
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
    return { kind: 'literal', value: Number(value), offset };
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

/** `(a)` is a, `(a, b)` is a list. */
function parseParenthesised(tokens: Tokens, offset: number): Expression {
  const isEmpty = tokens.is(')');
  const first = isEmpty ? undefined : parseExpression(tokens);
  if (first !== undefined && tokens.accept(')')) return first;
  if (first !== undefined) tokens.expect(',');
  const items = parseItems(tokens, ')');
  return { kind: 'list', items: first === undefined ? items : [first, ...items], offset };
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
