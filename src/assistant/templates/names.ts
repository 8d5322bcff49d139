import {
  type Arguments,
  blockName,
  type Expression,
  type MacroSyntax,
  type Statement,
} from './syntax.ts';
import { TemplateError } from './tokens.ts';
import { toText } from './value.ts';

/** Functions that every template can call. */
export const globals: ReadonlySet<string> = new Set(['range', 'dict', 'namespace']);

/** The paths that a template reads from its scope, without the variables it makes itself. */
export function namesOf(statements: readonly Statement[]): readonly string[] {
  const found = new Set<string>();
  const walker = new Walker((path, made) => {
    if (!made.has(path[0] ?? '')) found.add(path.join('.'));
  });
  walker.statements(statements, new Set([blockName]));
  return [...found];
}

/** @throws {TemplateError} when the template calls what is no macro of its own. */
export function checkCalls(template: string, statements: readonly Statement[]): void {
  const calls: Extract<Expression, { kind: 'call' }>[] = [];
  const walker = new Walker(undefined, (call) => calls.push(call));
  walker.statements(statements, new Set());
  for (const { name, offset } of calls) {
    if (globals.has(name) || name === 'caller' || walker.macros.has(name)) continue;
    const reason = `no macro named ${name}; only macros and the methods of values can be called`;
    throw new TemplateError(template, offset, reason);
  }
}

type Made = ReadonlySet<string>;

/** Visits every expression of a template, with the names that are variables there. */
class Walker {
  readonly macros = new Set<string>();
  readonly #onPath: ((path: readonly string[], made: Made) => void) | undefined;
  readonly #onCall: ((call: Extract<Expression, { kind: 'call' }>) => void) | undefined;

  constructor(
    onPath?: (path: readonly string[], made: Made) => void,
    onCall?: (call: Extract<Expression, { kind: 'call' }>) => void,
  ) {
    this.#onPath = onPath;
    this.#onCall = onCall;
  }

  /** Adds what `set` makes to `made`. */
  statements(statements: readonly Statement[], made: Set<string>): void {
    for (const statement of statements) this.#statement(statement, made);
  }

  #statement(statement: Statement, made: Set<string>): void {
    switch (statement.kind) {
      case 'text':
        break;
      case 'output':
        this.expression(statement.expression, made);
        break;
      case 'set':
      case 'capture':
        if (statement.kind === 'set') this.expression(statement.value, made);
        else {
          this.statements(statement.body, new Set(made));
          this.expression(statement.filter, made);
        }
        if ('names' in statement.target) for (const name of statement.target.names) made.add(name);
        break;
      case 'filtered':
        this.statements(statement.body, new Set(made));
        this.expression(statement.filter, made);
        break;
      case 'with': {
        const inside = new Set(made);
        for (const { name, value } of statement.assignments) {
          this.expression(value, made);
          inside.add(name);
        }
        this.statements(statement.body, inside);
        break;
      }
      case 'macro':
        this.macros.add(statement.name);
        made.add(statement.name);
        this.#macro(statement, made);
        break;
      case 'callblock':
        this.expression(statement.call, made);
        this.#macro(statement.body, made);
        break;
      case 'if':
        for (const { condition, body } of statement.branches) {
          this.expression(condition, made);
          this.statements(body, made);
        }
        break;
      case 'for': {
        this.expression(statement.over, made);
        const inside = new Set([...made, ...statement.target.names, 'loop']);
        this.expression(statement.filter, inside);
        this.statements(statement.body, inside);
        this.statements(statement.otherwise, made);
        break;
      }
    }
  }

  #macro({ parameters, body }: MacroSyntax, made: Made): void {
    for (const { fallback } of parameters) this.expression(fallback, made);
    const names = parameters.map(({ name }) => name);
    this.statements(body, new Set([...made, ...names, 'caller', 'varargs', 'kwargs']));
  }

  expression(expression: Expression | undefined, made: Made): void {
    if (expression === undefined) return;
    const path = pathOf(expression);
    if (path !== undefined) return this.#onPath?.(path, made);
    if (expression.kind === 'call') this.#onCall?.(expression);
    for (const child of childrenOf(expression)) this.expression(child, made);
  }
}

function childrenOf(expression: Expression): readonly (Expression | undefined)[] {
  switch (expression.kind) {
    case 'literal':
    case 'name':
      return [];
    case 'list':
    case 'tuple':
      return expression.items;
    case 'mapping':
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case 'member':
      return [expression.of, expression.key];
    case 'slice':
      return [expression.of, expression.from, expression.to, expression.step];
    case 'call':
      return all(expression.arguments);
    case 'method':
    case 'filter':
    case 'test':
      return [expression.of, ...all(expression.arguments)];
    case 'not':
    case 'minus':
      return [expression.of];
    case 'binary':
      return [expression.left, expression.right];
    case 'choice':
      return [expression.condition, expression.yes, expression.no];
  }
}

/** `a.b.c` of a chain of plain names. */
function pathOf(expression: Expression): string[] | undefined {
  if (expression.kind === 'name') return [expression.name];
  if (expression.kind !== 'member' || expression.key.kind !== 'literal') return undefined;
  const of = pathOf(expression.of);
  return of && [...of, toText(expression.key.value)];
}

function all({ positional, named }: Arguments): readonly Expression[] {
  return [...positional, ...named.values()];
}
