import { TextError } from '../../config/index.ts';
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import { type Call, toText, Tuple, type Value } from './value.ts';

/** The variables that the caller provides; only own properties count. */
export type TemplateScope = Readonly<Record<string, JsonValue | undefined>>;

/** A part of a template, compiled to a function of its variables. */
export type Evaluate<T = Value> = (variables: Variables) => T;

export interface RenderLimits {
  /** Maximum length of the result, and of every intermediate text and list. @default 1_000_000 */
  readonly output: number;
  /** Iterations of all loops together. @default 100_000 */
  readonly iterations: number;
  /**
   * Steps of the renderer, plus characters and items that operators, filters and methods process.
   * @default 5_000_000
   */
  readonly work: number;
}

/** Maximum call depth of macros, so that they can't exhaust the call stack. */
const maximumCalls = 100;

/** Cost of a macro call, in steps of the renderer. */
const callCost = 10;

/** One rendering of a template. Counts its costs and throws `RangeError` if they exceed the limits. */
export class Rendering {
  readonly #limits: RenderLimits;
  readonly #sizes = new WeakMap<object, number>();
  #work = 0;
  #written = 0;
  #iterations = 0;
  readonly scope: TemplateScope;
  /** Offset of the operation that started last. */
  offset = 0;
  /** Nesting depth of loops. */
  loops = 0;
  /** Call depth of macros. */
  calls = 0;

  constructor(scope: TemplateScope, limits: Partial<RenderLimits> = {}) {
    this.scope = scope;
    this.#limits = { output: 1_000_000, iterations: 100_000, work: 5_000_000, ...limits };
  }

  /** @throws {TextError} with the position of the operation that failed. */
  run<T>(template: string, evaluate: Evaluate<T>): T {
    try {
      return evaluate(new Variables(this));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const isOverflow = error.message.includes('call stack');
      const reason = isOverflow ? 'the values are nested too deeply' : error.message;
      throw new TextError(template, this.offset, reason, { cause: error });
    }
  }

  /** An arrow function, because operations call it without the rendering. */
  readonly spend = (amount: number): void => {
    this.#work += amount;
    if (!(this.#work <= this.#limits.work)) {
      throw new RangeError('the template does too much: its values are too long or too many');
    }
  };

  iterate(): void {
    this.#iterations += 1;
    if (this.#iterations > this.#limits.iterations) throw new RangeError('the loops never end');
  }

  /** The text that the template writes for a value. */
  write(value: Value): string {
    if (typeof value === 'object') this.spend(this.size(value));
    const text = toText(value);
    this.#written += text.length;
    if (this.#written > this.#limits.output) throw new RangeError('the result is too long');
    return text;
  }

  bounded<T extends Value>(value: T): T {
    if (typeof value !== 'string' && !isJsonList(value)) return value;
    this.spend(value.length);
    if (value.length > this.#limits.output) throw new RangeError('the result is too long');
    return value;
  }

  /**
   * Characters and items in a value, nested ones included. A value that occurs many times is counted each
   * time, because its text repeats, but traversed once.
   */
  size(value: Value): number {
    if (typeof value === 'string') return value.length + 1;
    if (typeof value !== 'object' || value === null) return 1;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let size = 1;
    if (isJsonList(value)) for (const item of value) size += this.size(item);
    else if (isJsonObject(value)) {
      for (const [key, item] of Object.entries(value)) size += key.length + this.size(item);
    }
    this.#sizes.set(value, size);
    return size;
  }
}

/** Variables of `set`, loops and macros, on top of the caller's scope. */
export class Variables {
  readonly rendering: Rendering;
  readonly #outer: Variables | undefined;
  readonly #own = new Map<string, Binding>();

  constructor(rendering: Rendering, outer?: Variables) {
    this.rendering = rendering;
    this.#outer = outer;
  }

  /** Creates the variables of a nested block. */
  inner(): Variables {
    return new Variables(this.rendering, this);
  }

  set(name: string, value: Binding): void {
    this.#own.set(name, value);
  }

  /** The innermost scope that has a variable with this name. */
  holder(name: string): Variables | undefined {
    if (this.#own.has(name)) return this;
    return this.#outer?.holder(name);
  }

  get(name: string): Binding {
    const holder = this.holder(name);
    if (holder !== undefined) return holder.#own.get(name);
    const { scope } = this.rendering;
    return Object.hasOwn(scope, name) ? scope[name] : undefined;
  }

  namespace(name: string, otherwise: string): Namespace {
    const found = this.get(name);
    if (found instanceof Namespace) return found;
    throw new RangeError(otherwise);
  }

  macro(name: string, offset: number): Macro {
    const found = this.get(name);
    this.rendering.offset = offset;
    if (found instanceof Macro) return found;
    throw new RangeError(`the macro ${name} is not known here`);
  }
}

export type Binding = Value | Macro | Namespace;

/** The result of `namespace()`: values that `set` can change from inside a loop. */
export class Namespace {
  readonly values: Map<string, JsonValue>;

  constructor(values: Iterable<readonly [string, JsonValue]>) {
    this.values = new Map(values);
  }
}

export interface MacroSyntax {
  readonly parameters: readonly {
    readonly name: string;
    readonly fallback: Evaluate | undefined;
  }[];
  readonly body: Evaluate<string>;
}

/** A macro, or the body of a call block, with the variables of its definition (a closure). */
export class Macro {
  readonly #syntax: MacroSyntax;
  readonly #outer: Variables;

  constructor(syntax: MacroSyntax, outer: Variables) {
    this.#syntax = syntax;
    this.#outer = outer;
  }

  /** `caller`: the body of the call block that calls the macro. */
  call(call: Call, caller?: Macro): string {
    const { rendering } = this.#outer;
    rendering.calls += 1;
    rendering.spend(callCost);
    if (rendering.calls > maximumCalls) {
      throw new RangeError('the macros call each other too deeply');
    }
    const { parameters, body } = this.#syntax;
    const variables = this.#outer.inner();
    const rest = new Map(call.named);
    for (const [at, { name, fallback }] of parameters.entries()) {
      const given = call.positional[at] ?? rest.get(name);
      rest.delete(name);
      variables.set(name, given ?? fallback?.(variables));
    }
    const more = call.positional.slice(parameters.length).map((one) => one ?? null);
    variables.set('varargs', Tuple.make(more));
    variables.set('kwargs', Object.fromEntries([...rest].map(([key, one]) => [key, one ?? null])));
    variables.set('caller', caller);
    const text = body(variables);
    rendering.calls -= 1;
    return text;
  }
}

/** The properties of `loop` inside a loop. */
export function loopState(at: number, items: readonly JsonValue[], depth: number): JsonObject {
  return {
    index: at + 1,
    index0: at,
    revindex: items.length - at,
    revindex0: items.length - at - 1,
    first: at === 0,
    last: at === items.length - 1,
    length: items.length,
    depth,
    depth0: depth - 1,
    ...(at > 0 && { previtem: items[at - 1] ?? null }),
    ...(at < items.length - 1 && { nextitem: items[at + 1] ?? null }),
  };
}
