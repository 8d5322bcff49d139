import { TextError } from '../../config/index.ts';
import { LruMap } from '../../protocol/index.ts';
import { compilePattern, type Pattern, PatternError } from '../../regex/index.ts';

/** A valid construct that the author probably did not intend. */
export interface ConditionWarning {
  readonly offset: number;
  readonly message: string;
}

/** A pattern that the engine can't compile. */
export interface UnsupportedPattern {
  readonly offset: number;
  readonly reason: string;
  readonly hint: string | undefined;
}

interface Parsed {
  readonly predicate: Predicate;
  readonly warnings: readonly ConditionWarning[];
  readonly unsupported: readonly UnsupportedPattern[];
}

/**
 * Parses a condition. `and` and `or` bind equally and to the right: `a and b or c` is
 * `a and (b or c)`; mixing them without parentheses gives a warning.
 * @throws {TextError}
 */
export function parseCondition(condition: string): Parsed {
  const parser = new Parser(condition);
  const predicate = parser.parse();
  return { predicate, warnings: parser.warnings, unsupported: parser.unsupported };
}

const constants: readonly Constant[] = ['true', 'false', 'null', 'undefined', 'empty'];
const symbols: Readonly<Record<string, Comparison>> = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

class Parser {
  readonly warnings: ConditionWarning[] = [];
  readonly unsupported: UnsupportedPattern[] = [];
  readonly #condition: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(condition: string) {
    this.#condition = condition;
    this.#tokens = tokenize(condition);
  }

  parse(): Predicate {
    if (this.#isEnd()) this.#fail('the condition is empty');
    const predicate = this.#logic();
    if (!this.#isEnd()) this.#unexpected('and, or or the end');
    return predicate;
  }

  get #current(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', offset: this.#condition.length };
  }

  #isEnd(): boolean {
    return this.#current.kind === 'end';
  }

  /** Keywords are case-insensitive. */
  #isWord(word: string): boolean {
    const token = this.#current;
    return token.kind === 'word' && token.value.toLowerCase() === word;
  }

  #acceptWord(word: string): boolean {
    const isWord = this.#isWord(word);
    if (isWord) this.#at += 1;
    return isWord;
  }

  #acceptSymbol(value: string): boolean {
    const token = this.#current;
    const isSymbol = token.kind === 'symbol' && token.value === value;
    if (isSymbol) this.#at += 1;
    return isSymbol;
  }

  /** Parses a chain of and/or, folded from the right. A loop, so that long chains need no deep stack. */
  #logic(): Predicate {
    this.#depth += 1;
    if (this.#depth > 100) this.#fail('nested too deeply');
    const chain: {
      readonly left: Predicate;
      readonly operator: 'and' | 'or';
      readonly offset: number;
    }[] = [];
    let last = this.#not();
    for (;;) {
      const { offset } = this.#current;
      const operator = this.#acceptWord('and') ? 'and' : this.#acceptWord('or') ? 'or' : undefined;
      if (operator === undefined) break;
      if (chain.length > 500) this.#fail('too many conditions in one chain');
      chain.push({ left: last, operator, offset });
      last = this.#not();
    }
    const mixed = chain.find(({ operator }) => operator !== chain[0]?.operator);
    if (mixed !== undefined) {
      const message = '"and" and "or" are mixed; they group from the right, so write parentheses';
      this.warnings.push({ offset: mixed.offset, message });
    }
    this.#depth -= 1;
    return chain.reduceRight(
      (right, { left, operator, offset }) => ({ kind: 'logic', operator, left, right, offset }),
      last,
    );
  }

  #not(): Predicate {
    const offsets: number[] = [];
    while (this.#isWord('not')) {
      offsets.push(this.#current.offset);
      if (offsets.length > 20) this.#fail('nested too deeply');
      this.#at += 1;
    }
    return offsets.reduceRight<Predicate>(
      (of, offset) => ({ kind: 'not', of, offset }),
      this.#comparison(),
    );
  }

  #comparison(): Predicate {
    const left = this.#operand();
    const { offset } = this.#current;
    const operator = this.#operator();
    if (operator === undefined) return left;
    const right = this.#operand();
    if (operator === 'matches') this.#checkPattern(right);
    else if (right.kind === 'pattern')
      this.#fail('a pattern is allowed only after matches', right.offset);
    if (left.kind === 'pattern') this.#fail('a pattern is allowed only after matches', left.offset);
    const next = this.#current;
    if (this.#operator() !== undefined) {
      this.#fail('comparisons cannot be chained; join two of them with and', next.offset);
    }
    return { kind: 'comparison', operator, left, right, offset };
  }

  #operator(): Comparison | undefined {
    const token = this.#current;
    if (token.kind === 'symbol' && Object.hasOwn(symbols, token.value)) {
      this.#at += 1;
      return symbols[token.value];
    }
    if (this.#acceptWord('is')) return this.#acceptWord('not') ? '!=' : '=';
    if (this.#acceptWord('contains')) return 'contains';
    return this.#acceptWord('matches') ? 'matches' : undefined;
  }

  #operand(): Predicate {
    const token = this.#current;
    const { offset } = token;
    if (this.#acceptSymbol('(')) {
      const inner = this.#logic();
      if (!this.#acceptSymbol(')')) this.#unexpected(')');
      return inner;
    }
    if (this.#acceptSymbol('{')) return this.#set(offset);
    if (token.kind === 'pattern') {
      this.#at += 1;
      return { kind: 'pattern', source: token.source, flags: token.flags, offset };
    }
    return this.#simple();
  }

  /** Parses a value that is valid alone and in a set. */
  #simple(): Predicate {
    const token = this.#current;
    const { offset } = token;
    if (token.kind === 'text' || token.kind === 'number') {
      this.#at += 1;
      return { kind: 'literal', value: token.value, offset };
    }
    if (token.kind !== 'word') return this.#unexpected('a value');
    const word = token.value.toLowerCase();
    if (['and', 'or', 'not', 'is', 'contains', 'matches'].includes(word)) {
      return this.#unexpected('a value');
    }
    this.#at += 1;
    if (word === 'none') {
      this.warnings.push({ offset, message: `"${token.value}" is read as null; write null` });
      return { kind: 'constant', value: 'null', offset };
    }
    const constant = constants.find((one) => one === word);
    return constant === undefined
      ? { kind: 'identifier', name: token.value, offset }
      : { kind: 'constant', value: constant, offset };
  }

  #set(offset: number): Predicate {
    const items: Predicate[] = [];
    while (!this.#acceptSymbol('}')) {
      if (this.#isEnd()) this.#fail('this set has no closing }', offset);
      items.push(this.#simple());
    }
    return { kind: 'set', items, offset };
  }

  #checkPattern(right: Predicate): void {
    const { offset } = right;
    try {
      if (right.kind === 'pattern') patternOf(right.source, right.flags);
      else if (right.kind === 'literal') patternOf(String(right.value));
      else if (right.kind !== 'identifier') this.#fail('matches needs a pattern or a text', offset);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      this.unsupported.push({ offset, reason: error.reason, hint: error.hint });
    }
  }

  #unexpected(expected: string): never {
    return this.#fail(`expected ${expected}, found ${describe(this.#current)}`);
  }

  #fail(reason: string, offset: number = this.#current.offset): never {
    throw mistake(this.#condition, offset, reason);
  }
}

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains' | 'matches';

export type Constant = 'true' | 'false' | 'null' | 'undefined' | 'empty';

/** A node of the syntax tree; `offset` counts characters in the condition. */
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

/** Maximum length of a condition, in characters. */
const maximumLength = 10_000;

export function tokenize(condition: string): readonly Token[] {
  if (condition.length > maximumLength) {
    throw mistake('', 0, `longer than ${maximumLength} characters`);
  }
  const tokens: Token[] = [];
  let offset = 0;
  while (offset < condition.length) {
    pattern.lastIndex = offset;
    const groups = pattern.exec(condition)?.groups;
    if (groups === undefined) throw mistake(condition, offset, trouble(condition, offset));
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

/** Only quotes and the backslash are escaped, so that patterns in texts stay readable. */
function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(['"\\])/g, '$1');
}

function mistake(condition: string, offset: number, reason: string): TextError {
  return new TextError(condition, offset, reason, { what: 'condition' });
}

const patterns = new LruMap<Pattern>(1_000);

/**
 * Compiles a pattern; compiled patterns are cached.
 * @throws {PatternError} when the engine can't compile it.
 */
export function patternOf(source: string, flags = ''): Pattern {
  return patterns.getOrMake(`${flags}/${source}`, () => compilePattern(source, flags));
}
