import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { MacroSyntax } from './syntax.ts';
import type { Value } from './value.ts';

/** A macro, or the body of a call block, with the variables around its definition. */
export class Macro {
  readonly syntax: MacroSyntax;
  readonly outer: Variables;

  constructor(syntax: MacroSyntax, outer: Variables) {
    this.syntax = syntax;
    this.outer = outer;
  }
}

/** What `namespace()` makes: values that `set` changes from inside a loop. */
export class Namespace {
  readonly values: Map<string, JsonValue>;

  constructor(values: Iterable<readonly [string, JsonValue]>) {
    this.values = new Map(values);
  }

  /** As a value it is a copy, so that no value can hold itself. */
  get copy(): JsonObject {
    return Object.fromEntries(this.values);
  }
}

export type Binding = Value | Macro | Namespace;

/** Variables that `set`, loops and macros make, over what the caller gave. */
export class Variables {
  readonly outer: Variables | undefined;
  readonly #own = new Map<string, Binding>();

  constructor(outer?: Variables) {
    this.outer = outer;
  }

  set(name: string, value: Binding): void {
    this.#own.set(name, value);
  }

  /** The innermost level that has a variable of this name. */
  holder(name: string): Variables | undefined {
    if (this.#own.has(name)) return this;
    return this.outer?.holder(name);
  }

  get(name: string): Binding {
    const holder = this.holder(name);
    return holder === undefined ? undefined : holder.#own.get(name);
  }
}

/** What `loop` tells inside a loop. */
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
