import { TextError } from '../../config/index.ts';

type TokenKind = 'name' | 'text' | 'number' | 'operator' | 'end';

interface Token {
  readonly kind: TokenKind;
  /** A text without its quotes; any other token as written. */
  readonly value: string;
  readonly offset: number;
}

const pattern =
  /\s+|(?<number>\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<text>'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*")|(?<operator>==|!=|<=|>=|\/\/|\*\*|[-+*/%~|.,:()[\]{}<>=])/uy;

/** Maximum number of tokens of one expression; bounds the depth of the syntax tree. */
const maximumTokens = 2_000;

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['0', '\0'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
  ['\n', ''],
  ...['\\', "'", '"'].map((char) => [char, char] as const),
]);

/** Functions that all templates can call. */
export const globals: ReadonlySet<string> = new Set(['range', 'dict', 'namespace']);

/** The names that a template uses, collected while it is parsed. */
export class Names {
  /** Paths that the template reads from its scope, without the template's own variables. */
  readonly references = new Set<string>();
  readonly #macros = new Set<string>();
  readonly #calls: { readonly name: string; readonly offset: number }[] = [];
  /** The template's own variables at this point. */
  #own = new Set<string>();

  read(path: readonly string[] | undefined): void {
    if (path === undefined || this.#own.has(path[0] ?? '')) return;
    this.references.add(path.join('.'));
  }

  declare(names: readonly string[]): void {
    for (const name of names) this.#own.add(name);
  }

  macro(name: string): void {
    this.#macros.add(name);
    this.#own.add(name);
  }

  call(name: string, offset: number): void {
    this.#calls.push({ name, offset });
  }

  /** Parses a block that has its own variables. */
  inside<T>(names: readonly string[], parse: () => T): T {
    const outer = this.#own;
    this.#own = new Set([...outer, ...names]);
    const result = parse();
    this.#own = outer;
    return result;
  }

  /** @throws {TextError} when the template calls an undefined macro. */
  checkCalls(template: string): void {
    const isKnown = (name: string) =>
      globals.has(name) || name === 'caller' || this.#macros.has(name);
    const unknown = this.#calls.find(({ name }) => !isKnown(name));
    if (unknown === undefined) return;
    const reason = `no macro named ${unknown.name}; only macros and the methods of values can be called`;
    throw new TextError(template, unknown.offset, reason);
  }
}

/** Tokens of one expression or statement, read once from left to right. */
export class Tokens {
  readonly template: string;
  readonly names: Names;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(template: string, tokens: readonly Token[], names: Names) {
    this.template = template;
    this.#tokens = tokens;
    this.names = names;
  }

  get current(): Token {
    return this.#tokens[this.#at] ?? this.#end;
  }

  peek(): Token {
    return this.#tokens[this.#at + 1] ?? this.#end;
  }

  get #end(): Token {
    return this.#tokens.at(-1) ?? { kind: 'end', value: '', offset: 0 };
  }

  take(): Token {
    const token = this.current;
    this.#at += 1;
    return token;
  }

  is(value: string, kind: TokenKind = 'operator'): boolean {
    return this.current.kind === kind && this.current.value === value;
  }

  accept(value: string, kind: TokenKind = 'operator'): boolean {
    if (!this.is(value, kind)) return false;
    this.#at += 1;
    return true;
  }

  expect(value: string, kind: TokenKind = 'operator'): Token {
    if (!this.is(value, kind)) this.fail(`expected ${value}, found ${describe(this.current)}`);
    return this.take();
  }

  expectName(what: string): string {
    if (this.current.kind !== 'name')
      this.fail(`expected ${what}, found ${describe(this.current)}`);
    return this.take().value;
  }

  expectEnd(): void {
    if (this.current.kind !== 'end') this.fail(`unexpected ${describe(this.current)}`);
  }

  /** Nesting is bounded, so that a malicious template can't exhaust the call stack. */
  nested<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > 100) this.fail('nested too deeply');
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  fail(reason: string, offset: number = this.current.offset): never {
    throw new TextError(this.template, offset, reason);
  }
}

export function describe(token: Token): string {
  if (token.kind === 'end') return 'the end';
  return token.kind === 'text' ? `text '${token.value}'` : `'${token.value}'`;
}

interface Scan {
  readonly tokens: readonly Token[];
  /** The offset after the closing mark. */
  readonly end: number;
  /** Whether the closing mark (`-}}`) trims the white space after it. */
  readonly trim: boolean;
}

/**
 * Reads tokens from `start` to the closing mark (`}}` or `%}`), or to the end of the text if `close` is
 * undefined.
 */
export function scan(template: string, start: number, close: '}}' | '%}' | undefined): Scan {
  const tokens: Token[] = [];
  let at = start;
  let braces = 0;
  while (at < template.length) {
    if (close !== undefined && braces === 0) {
      const isMarked = '-+'.includes(template.charAt(at)) && template.startsWith(close, at + 1);
      if (isMarked || template.startsWith(close, at)) {
        tokens.push({ kind: 'end', value: '', offset: at });
        const trim = isMarked && template[at] === '-';
        return { tokens, end: at + close.length + (isMarked ? 1 : 0), trim };
      }
    }
    pattern.lastIndex = at;
    const match = pattern.exec(template);
    if (match === null) {
      const reason = `'"`.includes(template.charAt(at))
        ? 'this text has no closing quote'
        : `unexpected character '${template[at]}'`;
      throw new TextError(template, at, reason);
    }
    const { number, name, text, operator } = match.groups ?? {};
    if (number !== undefined) tokens.push({ kind: 'number', value: number, offset: at });
    else if (name !== undefined) tokens.push({ kind: 'name', value: name, offset: at });
    else if (text !== undefined) tokens.push({ kind: 'text', value: unquote(text), offset: at });
    else if (operator !== undefined) {
      if ('([{'.includes(operator)) braces += 1;
      else if (')]}'.includes(operator)) braces -= 1;
      tokens.push({ kind: 'operator', value: operator, offset: at });
    }
    at = pattern.lastIndex;
    if (tokens.length > maximumTokens)
      throw new TextError(template, start, 'this expression is too long');
  }
  if (close !== undefined) throw new TextError(template, start, `missing the closing ${close}`);
  tokens.push({ kind: 'end', value: '', offset: at });
  return { tokens, end: at, trim: false };
}

/** An unknown escape stays as written: `'\\d'` keeps its backslash. */
function unquote(text: string): string {
  return text
    .slice(1, -1)
    .replace(
      /\\(?:x([\da-f]{2})|u([\da-f]{4})|([^]))/gi,
      (written, x?: string, u?: string, char?: string) =>
        char === undefined
          ? String.fromCharCode(Number.parseInt(x ?? u ?? '', 16))
          : (escapes.get(char) ?? written),
    );
}

export type Segment =
  | { readonly kind: 'text'; readonly text: string; readonly offset: number }
  | { readonly kind: 'output' | 'statement'; readonly tokens: Tokens; readonly offset: number };

const opening = /\{\{|\{%|\{#/g;
const endRaw = /\{%[-+]?\s*endraw\s*(-?)\+?%\}/g;

/**
 * Splits a template into plain text, `{{ outputs }}` and `{% statements %}`. Comments are dropped, and so
 * is white space next to a `-` mark.
 */
export function* segments(template: string, names: Names): Generator<Segment, undefined> {
  // A single line break at the end belongs to the file, not to the text.
  const end = template.length - (/\r?\n$|\r$/.exec(template)?.[0].length ?? 0);
  let at = 0;
  let trimStart = false;
  const text = (to: number, trimEnd: boolean): Segment[] => {
    let piece = template.slice(at, Math.min(to, end)).replace(/\r\n?/g, '\n');
    if (trimStart) piece = piece.trimStart();
    if (trimEnd) piece = piece.trimEnd();
    return piece === '' ? [] : [{ kind: 'text', text: piece, offset: at }];
  };
  for (;;) {
    opening.lastIndex = at;
    const match = opening.exec(template);
    if (match === null) {
      yield* text(end, false);
      return undefined;
    }
    const offset = match.index;
    const mark = template.charAt(offset + 2);
    yield* text(offset, mark === '-');
    // `+` keeps white space, which is the default.
    const inner = offset + (mark === '-' || (mark === '+' && match[0] === '{%') ? 3 : 2);
    if (match[0] === '{#') {
      const close = template.indexOf('#}', inner);
      if (close === -1) throw new TextError(template, offset, 'missing the closing #}');
      trimStart = template[close - 1] === '-' && close > inner;
      at = close + 2;
      continue;
    }
    const isOutput = match[0] === '{{';
    const { tokens, end: behind, trim } = scan(template, inner, isOutput ? '}}' : '%}');
    at = behind;
    trimStart = trim;
    if (!isOutput && tokens[0]?.value === 'raw' && tokens.length === 2) {
      endRaw.lastIndex = at;
      const close = endRaw.exec(template);
      if (close === null) throw new TextError(template, offset, 'missing {% endraw %}');
      yield* text(close.index, template[close.index + 2] === '-');
      at = endRaw.lastIndex;
      trimStart = close[1] === '-';
      continue;
    }
    yield {
      kind: isOutput ? 'output' : 'statement',
      tokens: new Tokens(template, tokens, names),
      offset,
    };
  }
}
