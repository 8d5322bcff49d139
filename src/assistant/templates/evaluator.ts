import { isJsonObject, type JsonValue } from '../../protocol/index.ts';
import { filters } from './filters.ts';
import { methods } from './methods.ts';
import { globals } from './names.ts';
import { type Budget, type Call, type Operation, toList } from './operation.ts';
import { operate, toOperand } from './operators.ts';
import type { Arguments, Expression } from './syntax.ts';
import { isList, isTruthy, member, tests, toText, Tuple, type Value } from './value.ts';
import { type Binding, Macro, Namespace, type Variables } from './variables.ts';

/** What a template can see; only own properties count. */
export type TemplateScope = Readonly<Record<string, JsonValue | undefined>>;

/** Runs a macro and answers its text. */
type RunMacro = (macro: Macro, call: Call) => string;

/** Evaluates the expressions of one rendering. Throws `RangeError` with the reason. */
export class Evaluator {
  readonly #scope: TemplateScope;
  readonly #budget: Budget;
  readonly #runMacro: RunMacro;
  /** Where the operation stands that was under way last. */
  offset = 0;

  constructor(scope: TemplateScope, budget: Budget, runMacro: RunMacro) {
    this.#scope = scope;
    this.#budget = budget;
    this.#runMacro = runMacro;
  }

  evaluate(expression: Expression, variables: Variables): Value {
    this.#budget.spend(1);
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'name':
        return toValue(this.#lookUp(expression.name, variables));
      case 'list':
        return expression.items.map((item) => this.evaluate(item, variables) ?? null);
      case 'tuple':
        return Tuple.named(
          [],
          expression.items.map((item) => this.evaluate(item, variables) ?? null),
        );
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
      case 'slice':
        return this.#slice(expression, variables);
      case 'call':
        return this.#function(expression, variables);
      case 'method':
        if (expression.name === 'append') return this.#append(expression, variables);
        return this.#apply(methods[expression.name], expression, variables);
      case 'filter':
        return this.#apply(filters[expression.name], expression, variables);
      case 'test':
        return this.#test(expression, variables);
      case 'not':
        return !isTruthy(this.evaluate(expression.of, variables));
      case 'minus': {
        const value = this.evaluate(expression.of, variables);
        this.offset = expression.offset;
        return -toOperand(value);
      }
      case 'choice':
        if (isTruthy(this.evaluate(expression.condition, variables))) {
          return this.evaluate(expression.yes, variables);
        }
        return expression.no && this.evaluate(expression.no, variables);
      case 'binary': {
        const { operator } = expression;
        const left = this.evaluate(expression.left, variables);
        if (operator === 'and' || operator === 'or') {
          return isTruthy(left) === (operator === 'or')
            ? left
            : this.evaluate(expression.right, variables);
        }
        const right = this.evaluate(expression.right, variables);
        this.offset = expression.offset;
        return operate(operator, left, right, this.#budget);
      }
    }
  }

  /** The text that the template writes for a value. */
  text(value: Value): string {
    if (typeof value === 'object') this.#budget.spend(this.#budget.size(value));
    return toText(value);
  }

  arguments(from: Arguments, variables: Variables): Call {
    const call = {
      positional: from.positional.map((one) => this.evaluate(one, variables)),
      named: new Map([...from.named].map(([name, one]) => [name, this.evaluate(one, variables)])),
      spend: this.#budget.spend,
    };
    for (const value of call.positional) this.#budget.spend(this.#budget.size(value));
    for (const value of call.named.values()) this.#budget.spend(this.#budget.size(value));
    return call;
  }

  /** What a call names; there is always one, since templates are checked when they are parsed. */
  binding({ name, offset }: Extract<Expression, { kind: 'call' }>, variables: Variables): Macro {
    const macro = this.#lookUp(name, variables);
    this.offset = offset;
    if (macro instanceof Macro) return macro;
    throw new RangeError(`the macro ${name} is not known here`);
  }

  #lookUp(name: string, variables: Variables): Binding {
    const holder = variables.holder(name);
    if (holder !== undefined) return holder.get(name);
    return Object.hasOwn(this.#scope, name) ? this.#scope[name] : undefined;
  }

  #apply(
    operation: Operation | undefined,
    expression: Extract<Expression, { kind: 'filter' | 'method' }>,
    variables: Variables,
  ): Value {
    const value = this.evaluate(expression.of, variables);
    const call = this.arguments(expression.arguments, variables);
    this.#budget.spend(this.#budget.size(value));
    this.offset = expression.offset;
    return operation && this.#budget.bounded(operation(value, call));
  }

  #test(expression: Extract<Expression, { kind: 'test' }>, variables: Variables): boolean {
    const value = this.evaluate(expression.of, variables);
    const { positional } = this.arguments(expression.arguments, variables);
    if (positional.length > 0) this.#budget.spend(this.#budget.size(value));
    this.offset = expression.offset;
    return tests[expression.name]?.(value, positional[0]) !== expression.negated;
  }

  #slice(expression: Extract<Expression, { kind: 'slice' }>, variables: Variables): Value {
    const of = this.evaluate(expression.of, variables);
    const [from, to, step = 1] = [expression.from, expression.to, expression.step].map((part) => {
      const value = part === undefined ? undefined : this.evaluate(part, variables);
      return typeof value === 'number' ? Math.trunc(value) : undefined;
    });
    if (typeof of !== 'string' && !isList(of)) return undefined;
    this.#budget.spend(of.length);
    if (step === 1) return of.slice(from, to);
    this.offset = expression.offset;
    if (step === 0) throw new RangeError('the step of a slice is zero');
    // With a negative step from the end to the start.
    const items = step > 0 ? toList(of).slice(from, to) : backwards(toList(of), from, to);
    const taken = items.filter((_, at) => at % Math.abs(step) === 0);
    return typeof of === 'string' ? taken.map(toText).join('') : taken;
  }

  #function(expression: Extract<Expression, { kind: 'call' }>, variables: Variables): Value {
    const { name } = expression;
    if (!globals.has(name) || variables.holder(name) !== undefined) {
      const macro = this.binding(expression, variables);
      return this.#runMacro(macro, this.arguments(expression.arguments, variables));
    }
    const call = this.arguments(expression.arguments, variables);
    this.offset = expression.offset;
    return name === 'range' ? this.#range(call) : Object.fromEntries(entriesOf(call));
  }

  #range({ positional }: Call): Value {
    const [first = 0, second, step = 1] = positional.map(toOperand);
    const [from, to] = second === undefined ? [0, first] : [first, second];
    if (step === 0) throw new RangeError('the step of range is zero');
    const length = Math.max(0, Math.ceil((to - from) / step));
    this.#budget.spend(length);
    return this.#budget.bounded(Array.from({ length }, (_, at) => from + at * step));
  }

  /**
   * `names.append(x)`. Values never change: the variable gets a longer list, so that no list can
   * hold itself.
   */
  #append(
    expression: Extract<Expression, { kind: 'method' | 'filter' }>,
    variables: Variables,
  ): null {
    const list = this.evaluate(expression.of, variables);
    const { positional } = this.arguments(expression.arguments, variables);
    this.offset = expression.offset;
    if (!isList(list)) throw new RangeError('append needs a list');
    const longer = this.#budget.bounded([...list, positional[0] ?? null]);
    const { of } = expression;
    if (of.kind === 'name') (variables.holder(of.name) ?? variables).set(of.name, longer);
    else if (of.kind === 'member' && of.of.kind === 'name' && of.key.kind === 'literal') {
      const namespace = variables.get(of.of.name);
      if (!(namespace instanceof Namespace)) throw new RangeError(appendHelp);
      namespace.values.set(toText(of.key.value), longer);
    } else throw new RangeError(appendHelp);
    return null;
  }
}

const appendHelp = 'append works on a variable or on a list of a namespace';

function toValue(binding: Binding): Value {
  if (binding instanceof Namespace) return binding.copy;
  return binding instanceof Macro ? true : binding;
}

/** What `dict` and `namespace` are made of: a mapping or pairs, and named arguments. */
export function entriesOf({ positional, named }: Call): (readonly [string, JsonValue])[] {
  const [first] = positional;
  const given = isJsonObject(first)
    ? Object.entries(first)
    : toList(first).map((pair) => [toText(toList(pair)[0]), toList(pair)[1] ?? null] as const);
  return [...given, ...[...named].map(([name, value]) => [name, value ?? null] as const)];
}

function backwards(
  list: readonly JsonValue[],
  from: number | undefined,
  to: number | undefined,
): readonly JsonValue[] {
  const at = (index: number) => (index < 0 ? list.length + index : index);
  const last = from === undefined ? list.length - 1 : Math.min(at(from), list.length - 1);
  const end = to === undefined ? -1 : Math.max(-1, at(to));
  return list.slice(end + 1, last + 1).toReversed();
}
