import type { JsonValue } from '../../protocol/index.ts';
import { entriesOf, Evaluator, type TemplateScope } from './evaluator.ts';
import { Budget, type Call, type RenderLimits, toList } from './operation.ts';
import { blockName, type Expression, type Statement, type Target } from './syntax.ts';
import { TemplateError } from './tokens.ts';
import { isList, isTruthy, Tuple, type Value } from './value.ts';
import { type Binding, loopState, Macro, Namespace, Variables } from './variables.ts';

/** How deep macros may call each other, so that they cannot exhaust the call stack. */
const maximumCalls = 100;

/** Of a macro, in steps of the renderer. */
const callCost = 10;

/** One rendering of one template: counts what it uses, and stops when it is too much. */
export class Rendering {
  readonly #template: string;
  readonly #budget: Budget;
  readonly #evaluator: Evaluator;
  #loops = 0;
  #calls = 0;

  constructor(template: string, scope: TemplateScope, limits: RenderLimits) {
    this.#template = template;
    this.#budget = new Budget(limits);
    this.#evaluator = new Evaluator(scope, this.#budget, (macro, call) => this.#macro(macro, call));
  }

  /** @throws {TemplateError} with the place of what cannot be done. */
  render(statements: readonly Statement[]): string {
    return this.#located(() => this.#run(statements, new Variables()));
  }

  /** @throws {TemplateError} with the place of what cannot be done. */
  evaluate(expression: Expression): Value {
    return this.#located(() => this.#evaluator.evaluate(expression, new Variables()));
  }

  #located<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const isOverflow = error.message.includes('call stack');
      const reason = isOverflow ? 'the values are nested too deeply' : error.message;
      throw new TemplateError(this.#template, this.#evaluator.offset, reason, error);
    }
  }

  #run(statements: readonly Statement[], variables: Variables): string {
    let output = '';
    for (const statement of statements) output += this.#statement(statement, variables);
    return output;
  }

  #statement(statement: Statement, variables: Variables): string {
    switch (statement.kind) {
      case 'text':
        return this.#budget.write(statement.text);
      case 'output': {
        const value = this.#evaluator.evaluate(statement.expression, variables);
        this.#evaluator.offset = statement.expression.offset;
        return this.#budget.write(this.#evaluator.text(value));
      }
      case 'if': {
        const branch = statement.branches.find(
          ({ condition }) =>
            condition === undefined || isTruthy(this.#evaluator.evaluate(condition, variables)),
        );
        return branch === undefined ? '' : this.#run(branch.body, variables);
      }
      case 'for':
        return this.#for(statement, variables);
      case 'set':
        this.#assign(statement.target, this.#binding(statement.value, variables), variables);
        return '';
      case 'capture': {
        const text = this.#run(statement.body, new Variables(variables));
        this.#assign(
          statement.target,
          this.#filtered(statement.filter, text, variables),
          variables,
        );
        return '';
      }
      case 'filtered': {
        const text = this.#run(statement.body, new Variables(variables));
        const value = this.#filtered(statement.filter, text, variables);
        return this.#budget.write(this.#evaluator.text(value));
      }
      case 'with': {
        const inside = new Variables(variables);
        for (const { name, value } of statement.assignments) {
          inside.set(name, this.#binding(value, variables));
        }
        return this.#run(statement.body, inside);
      }
      case 'macro':
        variables.set(statement.name, new Macro(statement, variables));
        return '';
      case 'callblock': {
        const { call } = statement;
        const macro = this.#evaluator.binding(call, variables);
        const caller = new Macro(statement.body, variables);
        const values = this.#evaluator.arguments(call.arguments, variables);
        return this.#budget.write(this.#macro(macro, values, caller));
      }
    }
  }

  #for(statement: Extract<Statement, { kind: 'for' }>, outer: Variables): string {
    const { target, filter, offset } = statement;
    const bind = (item: JsonValue): Variables => {
      const variables = new Variables(outer);
      this.#assign(target, item, variables);
      return variables;
    };
    let items = toList(this.#evaluator.evaluate(statement.over, outer));
    if (filter !== undefined) {
      items = items.filter((item) => isTruthy(this.#evaluator.evaluate(filter, bind(item))));
    }
    if (items.length === 0) return this.#run(statement.otherwise, outer);
    this.#loops += 1;
    let output = '';
    for (const [at, item] of items.entries()) {
      this.#evaluator.offset = offset;
      this.#budget.iterate();
      const variables = bind(item);
      variables.set('loop', loopState(at, items, this.#loops));
      output += this.#run(statement.body, variables);
    }
    this.#loops -= 1;
    return output;
  }

  #filtered(filter: Expression | undefined, text: string, outer: Variables): Value {
    this.#budget.spend(text.length);
    if (filter === undefined) return text;
    const variables = new Variables(outer);
    variables.set(blockName, text);
    return this.#evaluator.evaluate(filter, variables);
  }

  /** The value of `set`: only there can a namespace be made. */
  #binding(expression: Expression, variables: Variables): Binding {
    if (expression.kind !== 'call' || expression.name !== 'namespace') {
      return this.#evaluator.evaluate(expression, variables);
    }
    return new Namespace(entriesOf(this.#evaluator.arguments(expression.arguments, variables)));
  }

  #assign(target: Target, value: Binding, variables: Variables): void {
    if ('namespace' in target) {
      const namespace = variables.get(target.namespace);
      if (!(namespace instanceof Namespace)) {
        throw new RangeError(`${target.namespace} is not a namespace`);
      }
      const isPlain = !(value instanceof Macro || value instanceof Namespace);
      namespace.values.set(target.key, isPlain ? (value ?? null) : null);
      return;
    }
    const [only, ...more] = target.names;
    if (!target.isList && more.length === 0 && only !== undefined) {
      variables.set(only, value);
      return;
    }
    const items = value instanceof Macro || value instanceof Namespace ? undefined : value;
    for (const [at, name] of target.names.entries()) {
      variables.set(name, isList(items) ? items[at] : undefined);
    }
  }

  #macro(macro: Macro, call: Call, caller?: Macro): string {
    this.#calls += 1;
    this.#budget.spend(callCost);
    if (this.#calls > maximumCalls) throw new RangeError('the macros call each other too deeply');
    const { parameters, body } = macro.syntax;
    const variables = new Variables(macro.outer);
    const rest = new Map(call.named);
    for (const [at, { name, fallback }] of parameters.entries()) {
      const given = call.positional[at] ?? rest.get(name);
      rest.delete(name);
      variables.set(name, given ?? (fallback && this.#evaluator.evaluate(fallback, variables)));
    }
    const more = call.positional.slice(parameters.length).map((one) => one ?? null);
    variables.set('varargs', Tuple.named([], more));
    variables.set('kwargs', Object.fromEntries([...rest].map(([key, one]) => [key, one ?? null])));
    variables.set('caller', caller);
    const text = this.#run(body, variables);
    this.#calls -= 1;
    return text;
  }
}
