import { isJsonList } from '../../protocol/index.ts';
import { TextError } from '../../config/index.ts';
import {
  type Expression,
  parseArguments,
  parseExpression,
  parseFilter,
  parseFilters,
  parseOr,
  parseTuple,
} from './expression.ts';
import {
  type Binding,
  type Evaluate,
  loopState,
  Macro,
  type MacroSyntax,
  Namespace,
  type Variables,
} from './rendering.ts';
import { Names, type Segment, segments, type Tokens } from './tokens.ts';
import { isTruthy, toList, type Value } from './value.ts';

/** A statement, compiled to a function that renders it. */
type Render = Evaluate<string>;

/** Parses a whole template. */
export function parseTemplate(template: string): {
  readonly render: Render;
  readonly references: readonly string[];
} {
  const names = new Names();
  const { render } = new Parser(template, names).block([]);
  names.checkCalls(template);
  return { render, references: [...names.references] };
}

interface Block {
  readonly render: Render;
  /** The statement that ended the block, with its word already read. */
  readonly end: { readonly word: string; readonly tokens: Tokens } | undefined;
}

/** The target of `set` and `for`: names that share the items of a list, or a key of a namespace. */
type Target = NamesTarget | { readonly namespace: string; readonly key: string };

interface NamesTarget {
  readonly names: readonly string[];
  readonly isList: boolean;
}

class Parser {
  readonly #template: string;
  readonly #names: Names;
  readonly #segments: Iterator<Segment, undefined>;
  #depth = 0;

  constructor(template: string, names: Names) {
    this.#template = template;
    this.#names = names;
    this.#segments = segments(template, names);
  }

  /** Parses statements up to one of the `ends`, or to the end of the template if there are none. */
  block(ends: readonly string[], opener = 0): Block {
    this.#depth += 1;
    if (this.#depth > 50) throw new TextError(this.#template, opener, 'nested too deeply');
    const statements: Render[] = [];
    const render: Render = (variables) => {
      let output = '';
      for (const statement of statements) output += statement(variables);
      return output;
    };
    for (;;) {
      const segment = this.#segments.next().value;
      if (segment === undefined) {
        if (ends.length === 0) return { render, end: undefined };
        const reason = `this block has no {% ${ends[ends.length - 1]} %}`;
        throw new TextError(this.#template, opener, reason);
      }
      if (segment.kind === 'text') {
        const { text } = segment;
        statements.push(({ rendering }) => rendering.write(text));
        continue;
      }
      const { tokens, offset } = segment;
      if (segment.kind === 'output') {
        statements.push(output(parseTuple(tokens)));
        tokens.expectEnd();
        continue;
      }
      const word = tokens.expectName('a statement such as if, for or set');
      if (ends.includes(word)) {
        this.#depth -= 1;
        return { render, end: { word, tokens } };
      }
      statements.push(this.#statement(word, tokens, offset));
    }
  }

  /** Parses a block without branches, with its own variables. */
  #body(end: string, tokens: Tokens, offset: number, names: readonly string[] = []): Render {
    tokens.expectEnd();
    const block = this.#names.inside(names, () => this.block([end], offset));
    // `{% endmacro name %}` may repeat the name.
    if (end === 'endmacro' && block.end?.tokens.current.kind === 'name') block.end.tokens.take();
    block.end?.tokens.expectEnd();
    return block.render;
  }

  #statement(word: string, tokens: Tokens, offset: number): Render {
    switch (word) {
      case 'if':
        return this.#if(tokens, offset);
      case 'for':
        return this.#for(tokens, offset);
      case 'set':
        return this.#set(tokens, offset);
      case 'macro': {
        const name = tokens.expectName('the name of the macro');
        this.#names.macro(name);
        const parameters = parseParameters(tokens);
        const syntax = this.#macroBody('endmacro', parameters, tokens, offset);
        return silent((variables) => variables.set(name, new Macro(syntax, variables)));
      }
      case 'call':
        return this.#call(tokens, offset);
      case 'filter': {
        const filter = parseBlockFilters(tokens, offset, true);
        const filtered = captured(this.#body('endfilter', tokens, offset), filter);
        return (variables) => variables.rendering.write(filtered(variables));
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

  #if(first: Tokens, offset: number): Render {
    const branches: { readonly condition: Expression | undefined; readonly body: Render }[] = [];
    let tokens = first;
    let isElse = false;
    for (;;) {
      const condition = isElse ? undefined : parseExpression(tokens);
      tokens.expectEnd();
      const { render: body, end } = this.block(
        isElse ? ['endif'] : ['elif', 'else', 'endif'],
        offset,
      );
      branches.push({ condition, body });
      if (end === undefined || end.word === 'endif') {
        end?.tokens.expectEnd();
        break;
      }
      isElse = end.word === 'else';
      tokens = end.tokens;
    }
    return (variables) => {
      const isTaken = ({ condition }: (typeof branches)[number]) =>
        condition === undefined || isTruthy(condition.evaluate(variables));
      return branches.find(isTaken)?.body(variables) ?? '';
    };
  }

  #for(tokens: Tokens, offset: number): Render {
    const target = parseNames(tokens, 'the name of the loop variable');
    tokens.expect('in', 'name');
    const over = parseOr(tokens);
    const { filter, body, end } = this.#names.inside([...target.names, 'loop'], () => {
      const condition = tokens.accept('if', 'name') ? parseOr(tokens) : undefined;
      tokens.expectEnd();
      const block = this.block(['else', 'endfor'], offset);
      return { filter: condition, body: block.render, end: block.end };
    });
    const otherwise = end?.word === 'else' ? this.block(['endfor'], offset).render : undefined;
    return (outer) => {
      const { rendering } = outer;
      const bind = (item: Value): Variables => {
        const variables = outer.inner();
        assign(target, item, variables);
        return variables;
      };
      let items = toList(over.evaluate(outer));
      if (filter !== undefined) {
        items = items.filter((item) => isTruthy(filter.evaluate(bind(item))));
      }
      if (items.length === 0) return otherwise?.(outer) ?? '';
      rendering.loops += 1;
      let result = '';
      for (const [at, item] of items.entries()) {
        rendering.offset = offset;
        rendering.iterate();
        const variables = bind(item);
        variables.set('loop', loopState(at, items, rendering.loops));
        result += body(variables);
      }
      rendering.loops -= 1;
      return result;
    };
  }

  #set(tokens: Tokens, offset: number): Render {
    const target = parseTarget(tokens);
    let value: Evaluate<Binding>;
    if (tokens.accept('=')) {
      const { bind, evaluate } = parseTuple(tokens);
      tokens.expectEnd();
      value = bind ?? evaluate;
    } else {
      const filter = parseBlockFilters(tokens, offset, false);
      value = captured(this.#body('endset', tokens, offset), filter);
    }
    if ('names' in target) this.#names.declare(target.names);
    return silent((variables) => assign(target, value(variables), variables));
  }

  /** Parses the body of a macro or of a call block. */
  #macroBody(
    end: string,
    parameters: MacroSyntax['parameters'],
    tokens: Tokens,
    offset: number,
  ): MacroSyntax {
    const names = [...parameters.map(({ name }) => name), 'caller', 'varargs', 'kwargs'];
    return { parameters, body: this.#body(end, tokens, offset, names) };
  }

  /** `{% call name(...) %}...{% endcall %}`: `caller()` in the macro renders the body. */
  #call(tokens: Tokens, offset: number): Render {
    const parameters = parseParameters(tokens);
    const { offset: at } = tokens.current;
    const name = tokens.expectName('the name of a macro');
    this.#names.call(name, at);
    const argumentsOf = parseArguments(tokens);
    const syntax = this.#macroBody('endcall', parameters, tokens, offset);
    return (variables) => {
      const macro = variables.macro(name, at);
      const caller = new Macro(syntax, variables);
      return variables.rendering.write(macro.call(argumentsOf(variables), caller));
    };
  }

  #with(tokens: Tokens, offset: number): Render {
    const assignments: { name: string; value: Evaluate<Binding> }[] = [];
    while (tokens.current.kind !== 'end') {
      const name = tokens.expectName('the name of a variable');
      tokens.expect('=');
      const { bind, evaluate } = parseExpression(tokens);
      assignments.push({ name, value: bind ?? evaluate });
      if (!tokens.accept(',')) break;
    }
    const names = assignments.map(({ name }) => name);
    const body = this.#body('endwith', tokens, offset, names);
    return (variables) => {
      const inside = variables.inner();
      for (const { name, value } of assignments) inside.set(name, value(variables));
      return body(inside);
    };
  }
}

function output({ evaluate, offset }: Expression): Render {
  return (variables) => {
    const value = evaluate(variables);
    variables.rendering.offset = offset;
    return variables.rendering.write(value);
  };
}

/** A statement without output. */
function silent(run: (variables: Variables) => void): Render {
  return (variables) => {
    run(variables);
    return '';
  };
}

/** The variable that holds the rendered block while its filters run. */
const blockName = '%block';

/** `{% filter upper | trim %}` starts with a filter, `{% set x | upper %}` with its `|`. */
function parseBlockFilters(tokens: Tokens, offset: number, isOpen: boolean): Expression {
  const block = { offset, evaluate: (variables: Variables) => textOf(variables) };
  return parseFilters(tokens, isOpen ? parseFilter(tokens, block, offset) : block);
}

function textOf(variables: Variables): Value {
  const text = variables.get(blockName);
  return typeof text === 'string' ? text : undefined;
}

/** Renders a block and applies its filters. */
function captured(body: Render, filter: Expression): Evaluate {
  return (outer) => {
    const text = body(outer.inner());
    outer.rendering.spend(text.length);
    const variables = outer.inner();
    variables.set(blockName, text);
    return filter.evaluate(variables);
  };
}

function assign(target: Target, value: Binding, variables: Variables): void {
  const plain = value instanceof Macro || value instanceof Namespace ? undefined : value;
  if ('namespace' in target) {
    const { namespace, key } = target;
    const holder = variables.namespace(namespace, `${namespace} is not a namespace`);
    holder.values.set(key, plain ?? null);
    return;
  }
  const [only, ...more] = target.names;
  if (!target.isList && more.length === 0 && only !== undefined) {
    variables.set(only, value);
    return;
  }
  for (const [at, name] of target.names.entries()) {
    variables.set(name, isJsonList(plain) ? plain[at] : undefined);
  }
}

function parseParameters(tokens: Tokens): MacroSyntax['parameters'] {
  const parameters: MacroSyntax['parameters'][number][] = [];
  if (!tokens.accept('(')) return parameters;
  while (!tokens.is(')')) {
    const name = tokens.expectName('the name of a parameter');
    const fallback = tokens.accept('=') ? parseExpression(tokens).evaluate : undefined;
    parameters.push({ name, fallback });
    if (!tokens.accept(',')) break;
  }
  tokens.expect(')');
  return parameters;
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
  let isNames = false;
  while (tokens.accept(',')) {
    isNames = true;
    names.push(tokens.expectName(what));
  }
  if (isClosed) tokens.expect(')');
  return { names, isList: isNames };
}
