import { locate } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains' | 'matches';

export type Constant = 'true' | 'false' | 'null' | 'undefined' | 'empty';

/** What a condition is made of; `offset` counts characters in the condition. */
export type Predicate = { readonly offset: number } & (
  | {
      readonly kind: 'logic';
      readonly operator: 'and' | 'or';
      readonly left: Predicate;
      readonly right: Predicate;
    }
  | { readonly kind: 'not'; readonly of: Predicate }
  | {
      readonly kind: 'comparison';
      readonly operator: Comparison;
      readonly left: Predicate;
      readonly right: Predicate;
    }
  | { readonly kind: 'identifier'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: string | number }
  | { readonly kind: 'constant'; readonly value: Constant }
  | { readonly kind: 'set'; readonly items: readonly Predicate[] }
  | { readonly kind: 'pattern'; readonly source: string; readonly flags: string }
);

export type Token = { readonly offset: number } & (
  | { readonly kind: 'word'; readonly value: string }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'number'; readonly value: number; readonly written: string }
  | { readonly kind: 'pattern'; readonly source: string; readonly flags: string }
  | { readonly kind: 'symbol'; readonly value: string }
  | { readonly kind: 'end' }
);

const pattern =
  /\s+|#[^\n]*|(?<number>-?\d+(?:\.\d+)?(?![\p{L}\p{N}_.]))|(?<word>[\p{L}_][\p{L}\p{N}_.\-@$]*)|(?<text>'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*")|\/(?<source>(?:[^/\\\n]|\\[^\n])+)\/(?<flags>[A-Za-z]*)|(?<symbol>==|!=|<=|>=|[=<>(){}])/uy;

/** Conditions longer than this, in characters, are refused. */
const maximumLength = 10_000;

export function tokenize(condition: string): readonly Token[] {
  if (condition.length > maximumLength) {
    throw new ConditionError('', 0, `longer than ${maximumLength} characters`);
  }
  const tokens: Token[] = [];
  let offset = 0;
  while (offset < condition.length) {
    pattern.lastIndex = offset;
    const groups = pattern.exec(condition)?.groups;
    if (groups === undefined)
      throw new ConditionError(condition, offset, trouble(condition, offset));
    const { number, word, text, source, flags = '', symbol } = groups;
    if (number !== undefined) {
      tokens.push({ kind: 'number', value: Number(number), written: number, offset });
    } else if (word !== undefined) tokens.push({ kind: 'word', value: word, offset });
    else if (text !== undefined) tokens.push({ kind: 'text', value: unquote(text), offset });
    else if (source !== undefined) tokens.push({ kind: 'pattern', source, flags, offset });
    else if (symbol !== undefined) tokens.push({ kind: 'symbol', value: symbol, offset });
    offset = pattern.lastIndex;
  }
  tokens.push({ kind: 'end', offset });
  return tokens;
}

export function describe(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'the end';
    case 'text':
      return `text '${token.value}'`;
    case 'pattern':
      return `pattern /${token.source}/`;
    case 'number':
      return token.written;
    default:
      return `'${token.value}'`;
  }
}

function trouble(condition: string, offset: number): string {
  const char = String.fromCodePoint(condition.codePointAt(offset) ?? 0);
  if (char === "'" || char === '"') return 'this text has no closing quote';
  if (char === '&') return "unexpected '&'; write and";
  if (char === '|') return "unexpected '|'; write or";
  if (char === '!') return "unexpected '!'; write not, or !=";
  if (char === ',') return "unexpected ','; the items of a set are separated by spaces";
  if (char === '/') return 'this pattern has no closing /';
  return `unexpected character '${char}'`;
}

/** Only the quote itself and the backslash are escaped, so that patterns in texts stay readable. */
function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(['"\\])/g, '$1');
}

/** A condition that cannot be parsed; says where. The only error that conditions throw. */
export class ConditionError extends LegateError {
  /** In characters from the start of the condition. */
  readonly offset: number;
  /** What is wrong, without the place. */
  readonly reason: string;

  constructor(condition: string, offset: number, reason: string, cause?: unknown) {
    const { line, column } = locate(condition, offset);
    const where = line === 1 ? `column ${column}` : `line ${line}, column ${column}`;
    super('CONFIGURATION_INVALID', `condition, ${where}: ${reason}`, { cause });
    this.offset = offset;
    this.reason = reason;
  }
}
