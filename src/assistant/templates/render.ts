import type { JsonValue } from '../../protocol/index.ts';
import type { Arguments, Expression } from './expression.ts';
import { type Call, filters, methods, type Operation, toList } from './filters.ts';
import { loopState } from './loop.ts';
import type { Statement } from './statement.ts';
import { TemplateError } from './template-error.ts';
import { tests } from './tests.ts';
import { contains, isEqual, isList, isTruthy, member, order, toText, type Value } from './value.ts';

/** What a template can see; only own properties count. */
export type TemplateScope = Readonly<Record<string, JsonValue | undefined>>;

export interface RenderLimits {
  /** Characters of the result, and of every text on the way. @default 1_000_000 */
  readonly output: number;
  /** Passes of all loops together. @default 100_000 */
  readonly iterations: number;
}

export const defaultLimits: RenderLimits = { output: 1_000_000, iterations: 100_000 };

/** Variables that `set` and loops make, over what the caller gave. */
interface Variables {
  readonly own: Map<string, Value>;
  readonly outer: Variables | undefined;
}

/** One rendering of one template: counts what it uses, and stops when it is too much. */
export class Rendering {
  readonly #template: string;
  readonly #scope: TemplateScope;
  readonly #limits: RenderLimits;
  #iterations = 0;
  #written = 0;

  constructor(template: string, scope: TemplateScope, limits: RenderLimits) {
    this.#template = template;
    this.#scope = scope;
    this.#limits = limits;
  }

  run(
    statements: readonly Statement[],
    variables: Variables = { own: new Map(), outer: undefined },
  ): string {
    let output = '';
    for (const statement of statements) output += this.#statement(statement, variables);
    return output;
  }

  #statement(statement: Statement, variables: Variables): string {
    switch (statement.kind) {
      case 'text':
        return this.#write(statement.text, 0);
      case 'output': {
        const { expression } = statement;
        return this.#write(toText(this.evaluate(expression, variables)), expression.offset);
      }
      case 'set':
        variables.own.set(statement.name, this.evaluate(statement.value, variables));
        return '';
      case 'capture':
        variables.own.set(statement.name, this.run(statement.body, variables));
        return '';
      case 'if': {
        const branch = statement.branches.find(
          ({ condition }) =>
            condition === undefined || isTruthy(this.evaluate(condition, variables)),
        );
        return branch === undefined ? '' : this.run(branch.body, variables);
      }
      case 'for':
        return this.#for(statement, variables);
    }
  }

  #for(statement: Extract<Statement, { kind: 'for' }>, outer: Variables): string {
    const { names, filter, offset } = statement;
    const bind = (item: JsonValue): Variables => {
      const own = new Map<string, Value>();
      const [only, ...more] = names;
      if (more.length === 0 && only !== undefined) own.set(only, item);
      else
        for (const [at, name] of names.entries())
          own.set(name, isList(item) ? item[at] : undefined);
      return { own, outer };
    };
    let items = toList(this.evaluate(statement.over, outer));
    if (filter !== undefined) {
      items = items.filter((item) => isTruthy(this.evaluate(filter, bind(item))));
    }
    if (items.length === 0) return this.run(statement.otherwise, outer);
    let output = '';
    for (const [at, item] of items.entries()) {
      this.#iterations += 1;
      if (this.#iterations > this.#limits.iterations) this.#fail(offset, 'the loops never end');
      const variables = bind(item);
      variables.own.set('loop', loopState(at, items));
      output += this.run(statement.body, variables);
    }
    return output;
  }

  #write(text: string, offset: number): string {
    this.#written += text.length;
    if (this.#written > this.#limits.output) this.#fail(offset, 'the result is too long');
    return text;
  }

  evaluate(expression: Expression, variables?: Variables): Value {
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'name':
        return this.#lookUp(expression.name, variables);
      case 'list':
        return expression.items.map((item) => this.evaluate(item, variables) ?? null);
      case 'mapping':
        return Object.fromEntries(
          expression.entries.map(({ key, value }) => [
            toText(this.evaluate(key, variables)),
            this.evaluate(value, variables) ?? null,
          ]),
        );
      case 'member':
        return member(
          this.evaluate(expression.of, variables),
          this.evaluate(expression.key, variables),
        );
      case 'slice': {
        const of = this.evaluate(expression.of, variables);
        const [from, to] = [expression.from, expression.to].map((end) => {
          const value = end === undefined ? undefined : this.evaluate(end, variables);
          return typeof value === 'number' ? value : undefined;
        });
        return typeof of === 'string' || isList(of) ? of.slice(from, to) : undefined;
      }
      case 'method':
        return this.#call('method', methods, expression, variables);
      case 'filter':
        return this.#call('filter', filters, expression, variables);
      case 'test':
        return this.#test(expression, variables);
      case 'not':
        return !isTruthy(this.evaluate(expression.of, variables));
      case 'minus':
        return -this.#number(this.evaluate(expression.of, variables), expression.offset);
      case 'choice':
        if (isTruthy(this.evaluate(expression.condition, variables))) {
          return this.evaluate(expression.yes, variables);
        }
        return expression.no && this.evaluate(expression.no, variables);
      case 'binary':
        return this.#binary(expression, variables);
    }
  }

  #lookUp(name: string, variables: Variables | undefined): Value {
    for (let level = variables; level !== undefined; level = level.outer) {
      if (level.own.has(name)) return level.own.get(name);
    }
    return Object.hasOwn(this.#scope, name) ? this.#scope[name] : undefined;
  }

  #call(
    what: 'filter' | 'method',
    table: Readonly<Record<string, Operation>>,
    expression: Extract<Expression, { kind: 'filter' | 'method' }>,
    variables: Variables | undefined,
  ): Value {
    const { name, offset } = expression;
    const operation = Object.hasOwn(table, name) ? table[name] : undefined;
    if (operation === undefined) return this.#fail(offset, `no ${what} named ${name}`);
    const value = this.evaluate(expression.of, variables);
    const call = this.#arguments(expression.arguments, variables);
    let result: Value;
    try {
      result = operation(value, call);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return this.#fail(offset, error.message, error);
    }
    return this.#bounded(result, offset);
  }

  #arguments(from: Arguments, variables: Variables | undefined): Call {
    return {
      positional: from.positional.map((one) => this.evaluate(one, variables)),
      named: new Map([...from.named].map(([name, one]) => [name, this.evaluate(one, variables)])),
    };
  }

  #test(
    expression: Extract<Expression, { kind: 'test' }>,
    variables: Variables | undefined,
  ): boolean {
    const { name, offset, negated } = expression;
    const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
    if (test === undefined) return this.#fail(offset, `no test named ${name}`);
    const value = this.evaluate(expression.of, variables);
    const operand = expression.arguments.positional[0];
    const holds = test(value, operand && this.evaluate(operand, variables));
    return holds !== negated;
  }

  #binary(
    expression: Extract<Expression, { kind: 'binary' }>,
    variables: Variables | undefined,
  ): Value {
    const { operator, offset } = expression;
    const left = this.evaluate(expression.left, variables);
    if (operator === 'and' && !isTruthy(left)) return left;
    if (operator === 'or' && isTruthy(left)) return left;
    const right = this.evaluate(expression.right, variables);
    const sign = order(left, right);
    switch (operator) {
      case 'and':
      case 'or':
        return right;
      case '==':
        return isEqual(left, right);
      case '!=':
        return !isEqual(left, right);
      case '<':
        return sign !== undefined && sign < 0;
      case '<=':
        return sign !== undefined && sign <= 0;
      case '>':
        return sign !== undefined && sign > 0;
      case '>=':
        return sign !== undefined && sign >= 0;
      case 'in':
        return contains(right, left);
      case 'not in':
        return !contains(right, left);
      case '~':
        return this.#bounded(toText(left) + toText(right), offset);
      case '+':
        if (typeof left === 'string' && typeof right === 'string') {
          return this.#bounded(left + right, offset);
        }
        if (isList(left) && isList(right)) return this.#bounded([...left, ...right], offset);
        return this.#number(left, offset) + this.#number(right, offset);
      default:
        return this.#arithmetic(operator, this.#number(left, offset), right, offset);
    }
  }

  #arithmetic(operator: '-' | '*' | '/' | '//' | '%', left: number, by: Value, at: number): number {
    const right = this.#number(by, at);
    if (operator === '-') return left - right;
    if (operator === '*') return left * right;
    if (right === 0) return this.#fail(at, 'division by zero');
    if (operator === '/') return left / right;
    // The remainder has the sign of the divisor.
    return operator === '//' ? Math.floor(left / right) : left - right * Math.floor(left / right);
  }

  #number(value: Value, offset: number): number {
    if (typeof value === 'number') return value;
    return this.#fail(
      offset,
      `expected a number, found ${value === undefined ? 'nothing' : toText(value).slice(0, 40)}`,
    );
  }

  #bounded<T extends Value>(value: T, offset: number): T {
    if ((typeof value === 'string' || isList(value)) && value.length > this.#limits.output) {
      this.#fail(offset, 'the result is too long');
    }
    return value;
  }

  #fail(offset: number, reason: string, cause?: unknown): never {
    throw new TemplateError(this.#template, offset, reason, cause);
  }
}
