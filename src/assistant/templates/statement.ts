import { type Expression, parseExpression, parseOr } from './expression.ts';
import { type Segment, segments } from './segments.ts';
import { TemplateError } from './template-error.ts';
import type { Tokens } from './tokens.ts';

export type Statement =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly expression: Expression }
  | { readonly kind: 'if'; readonly branches: readonly Branch[] }
  | {
      readonly kind: 'for';
      /** One name, or several that share the items of a list. */
      readonly names: readonly string[];
      readonly over: Expression;
      readonly filter: Expression | undefined;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
      readonly offset: number;
    }
  | { readonly kind: 'set'; readonly name: string; readonly value: Expression }
  | { readonly kind: 'capture'; readonly name: string; readonly body: readonly Statement[] };

interface Branch {
  /** None for `else`. */
  readonly condition: Expression | undefined;
  readonly body: readonly Statement[];
}

/** Parses a whole template. */
export function parseTemplate(template: string): readonly Statement[] {
  const parser = new Parser(template, segments(template));
  const body = parser.block([]);
  return body.statements;
}

interface Block {
  readonly statements: readonly Statement[];
  /** The statement that ended the block, with its word already read. */
  readonly end: { readonly word: string; readonly tokens: Tokens } | undefined;
}

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
        statements.push({ kind: 'output', expression: parseExpression(tokens) });
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

  #statement(word: string, tokens: Tokens, offset: number): Statement {
    if (word === 'if') return this.#if(tokens, offset);
    if (word === 'for') return this.#for(tokens, offset);
    if (word === 'set') return this.#set(tokens, offset);
    const known = ['elif', 'else', 'endif', 'endfor', 'endset'];
    return tokens.fail(
      known.includes(word)
        ? `{% ${word} %} without its beginning`
        : `{% ${word} %} is not supported; there are if, for, set and raw`,
      offset,
    );
  }

  #if(first: Tokens, offset: number): Statement {
    const branches: Branch[] = [];
    let tokens = first;
    let isElse = false;
    for (;;) {
      const condition = isElse ? undefined : parseExpression(tokens);
      tokens.expectEnd();
      const block = this.block(isElse ? ['endif'] : ['elif', 'else', 'endif'], offset);
      branches.push({ condition, body: block.statements });
      if (block.end === undefined || block.end.word === 'endif') {
        block.end?.tokens.expectEnd();
        return { kind: 'if', branches };
      }
      isElse = block.end.word === 'else';
      tokens = block.end.tokens;
    }
  }

  #for(tokens: Tokens, offset: number): Statement {
    const names = [tokens.expectName('the name of the loop variable')];
    while (tokens.accept(',')) names.push(tokens.expectName('the name of a loop variable'));
    tokens.expect('in', 'name');
    const over = parseOr(tokens);
    const filter = tokens.accept('if', 'name') ? parseOr(tokens) : undefined;
    tokens.expectEnd();
    const block = this.block(['else', 'endfor'], offset);
    const otherwise =
      block.end?.word === 'else' ? this.block(['endfor'], offset).statements : ([] as const);
    return { kind: 'for', names, over, filter, body: block.statements, otherwise, offset };
  }

  #set(tokens: Tokens, offset: number): Statement {
    const name = tokens.expectName('the name of a variable');
    if (tokens.accept('=')) {
      const value = parseExpression(tokens);
      tokens.expectEnd();
      return { kind: 'set', name, value };
    }
    tokens.expectEnd();
    return { kind: 'capture', name, body: this.block(['endset'], offset).statements };
  }
}
