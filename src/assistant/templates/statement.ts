import {
  parseArguments,
  parseExpression,
  parseFilter,
  parseFilters,
  parseOr,
} from './expression.ts';
import { checkCalls } from './names.ts';
import {
  blockName,
  type Expression,
  type MacroSyntax,
  type Parameter,
  type Statement,
  type Target,
} from './syntax.ts';
import { type Segment, segments, TemplateError, type Tokens } from './tokens.ts';

/** Parses a whole template. */
export function parseTemplate(template: string): readonly Statement[] {
  const { statements } = new Parser(template, segments(template)).block([]);
  checkCalls(template, statements);
  return statements;
}

interface Block {
  readonly statements: readonly Statement[];
  /** The statement that ended the block, with its word already read. */
  readonly end: { readonly word: string; readonly tokens: Tokens } | undefined;
}

type NamesTarget = Extract<Target, { names: unknown }>;

class Parser {
  readonly #template: string;
  readonly #segments: Iterator<Segment, undefined>;
  #depth = 0;

  constructor(template: string, source: Iterable<Segment, undefined>) {
    this.#template = template;
    this.#segments = source[Symbol.iterator]();
  }

  /** Statements up to one of the `ends`, or to the end of the template when there are none. */
  block(ends: readonly string[], opener = 0): Block {
    this.#depth += 1;
    if (this.#depth > 50) throw new TemplateError(this.#template, opener, 'nested too deeply');
    const statements: Statement[] = [];
    for (;;) {
      const segment = this.#segments.next().value;
      if (segment === undefined) {
        if (ends.length === 0) return { statements, end: undefined };
        const reason = `this block has no {% ${ends[ends.length - 1]} %}`;
        throw new TemplateError(this.#template, opener, reason);
      }
      if (segment.kind === 'text') {
        statements.push(segment);
        continue;
      }
      const { tokens, offset } = segment;
      if (segment.kind === 'output') {
        statements.push({ kind: 'output', expression: parseTuple(tokens), offset });
        tokens.expectEnd();
        continue;
      }
      const word = tokens.expectName('a statement such as if, for or set');
      if (ends.includes(word)) {
        this.#depth -= 1;
        return { statements, end: { word, tokens } };
      }
      statements.push(this.#statement(word, tokens, offset));
    }
  }

  /** The statements of a block without branches. */
  #body(end: string, tokens: Tokens, offset: number): readonly Statement[] {
    tokens.expectEnd();
    const block = this.block([end], offset);
    // `{% endmacro name %}` may repeat the name.
    if (end === 'endmacro' && block.end?.tokens.current.kind === 'name') block.end.tokens.take();
    block.end?.tokens.expectEnd();
    return block.statements;
  }

  #statement(word: string, tokens: Tokens, offset: number): Statement {
    switch (word) {
      case 'if':
        return this.#if(tokens, offset);
      case 'for':
        return this.#for(tokens, offset);
      case 'set':
        return this.#set(tokens, offset);
      case 'macro': {
        const name = tokens.expectName('the name of the macro');
        return { kind: 'macro', name, ...this.#macro('endmacro', tokens, offset), offset };
      }
      case 'call':
        return this.#call(tokens, offset);
      case 'filter': {
        const first = parseFilter(tokens, blockOf(offset), offset);
        const filter = parseFilters(tokens, first);
        return { kind: 'filtered', filter, body: this.#body('endfilter', tokens, offset), offset };
      }
      case 'with':
        return this.#with(tokens, offset);
      default:
        return tokens.fail(
          word.startsWith('end') || word === 'elif' || word === 'else'
            ? `{% ${word} %} without its beginning`
            : `{% ${word} %} is not supported; there are if, for, set, macro, call, filter, with and raw`,
          offset,
        );
    }
  }

  #if(first: Tokens, offset: number): Statement {
    const branches: Extract<Statement, { kind: 'if' }>['branches'][number][] = [];
    let tokens = first;
    let isElse = false;
    for (;;) {
      const condition = isElse ? undefined : parseExpression(tokens);
      tokens.expectEnd();
      const block = this.block(isElse ? ['endif'] : ['elif', 'else', 'endif'], offset);
      branches.push({ condition, body: block.statements });
      if (block.end === undefined || block.end.word === 'endif') {
        block.end?.tokens.expectEnd();
        return { kind: 'if', branches, offset };
      }
      isElse = block.end.word === 'else';
      tokens = block.end.tokens;
    }
  }

  #for(tokens: Tokens, offset: number): Statement {
    const target = parseNames(tokens, 'the name of the loop variable');
    tokens.expect('in', 'name');
    const over = parseOr(tokens);
    const filter = tokens.accept('if', 'name') ? parseOr(tokens) : undefined;
    tokens.expectEnd();
    const block = this.block(['else', 'endfor'], offset);
    const otherwise =
      block.end?.word === 'else' ? this.block(['endfor'], offset).statements : ([] as const);
    return { kind: 'for', target, over, filter, body: block.statements, otherwise, offset };
  }

  #set(tokens: Tokens, offset: number): Statement {
    const target = parseTarget(tokens);
    if (tokens.accept('=')) {
      const value = parseTuple(tokens);
      tokens.expectEnd();
      return { kind: 'set', target, value, offset };
    }
    const filter = tokens.is('|') ? parseFilters(tokens, blockOf(offset)) : undefined;
    return { kind: 'capture', target, filter, body: this.#body('endset', tokens, offset), offset };
  }

  #macro(end: string, tokens: Tokens, offset: number): MacroSyntax {
    const parameters: Parameter[] = [];
    if (tokens.accept('(')) {
      while (!tokens.is(')')) {
        const name = tokens.expectName('the name of a parameter');
        const fallback = tokens.accept('=') ? parseExpression(tokens) : undefined;
        parameters.push({ name, fallback });
        if (!tokens.accept(',')) break;
      }
      tokens.expect(')');
    }
    // What a call block calls stands behind its parameters.
    if (end === 'endcall') return { parameters, body: [] };
    return { parameters, body: this.#body(end, tokens, offset) };
  }

  #call(tokens: Tokens, offset: number): Statement {
    const { parameters } = this.#macro('endcall', tokens, offset);
    const { offset: at } = tokens.current;
    const name = tokens.expectName('the name of a macro');
    const call = { kind: 'call', name, arguments: parseArguments(tokens), offset: at } as const;
    const body = { parameters, body: this.#body('endcall', tokens, offset) };
    return { kind: 'callblock', call, body, offset };
  }

  #with(tokens: Tokens, offset: number): Statement {
    const assignments: { name: string; value: Expression }[] = [];
    while (tokens.current.kind !== 'end') {
      const name = tokens.expectName('the name of a variable');
      tokens.expect('=');
      assignments.push({ name, value: parseExpression(tokens) });
      if (!tokens.accept(',')) break;
    }
    return { kind: 'with', assignments, body: this.#body('endwith', tokens, offset), offset };
  }
}

/** `a` or, without parentheses, the tuple `a, b`. */
function parseTuple(tokens: Tokens): Expression {
  const first = parseExpression(tokens);
  if (!tokens.is(',')) return first;
  const items = [first];
  while (tokens.accept(',') && tokens.current.kind !== 'end') items.push(parseExpression(tokens));
  return { kind: 'tuple', items, offset: first.offset };
}

function parseTarget(tokens: Tokens): Target {
  const { current } = tokens;
  if (current.kind === 'name' && tokens.peek().value === '.') {
    tokens.take();
    tokens.take();
    return { namespace: current.value, key: tokens.expectName('a name after the dot') };
  }
  return parseNames(tokens, 'the name of a variable');
}

/** `a`, `a, b` or `(a, b)`. */
function parseNames(tokens: Tokens, what: string): NamesTarget {
  const isClosed = tokens.accept('(');
  const names = [tokens.expectName(what)];
  let isList = false;
  while (tokens.accept(',')) {
    isList = true;
    names.push(tokens.expectName(what));
  }
  if (isClosed) tokens.expect(')');
  return { names, isList };
}

function blockOf(offset: number): Expression {
  return { kind: 'name', name: blockName, offset };
}
