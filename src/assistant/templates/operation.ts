import { isJsonObject, type JsonValue } from '../../protocol/index.ts';
import { isList, member, type Value } from './value.ts';

/** The arguments of a filter or method, and the account of the rendering that calls it. */
export interface Call {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
  /** Takes characters or items from what the rendering may use. @throws when there is no more. */
  readonly spend: (amount: number) => void;
}

/** What a filter or method computes; throws `RangeError` with the reason when it cannot. */
export type Operation = (value: Value, call: Call) => Value;

/** The argument at a place, or of a name. */
export function argument(call: Call, at: number, name: string): Value {
  return call.named.get(name) ?? call.positional[at];
}

/** Anything that can be walked through, as a list. */
export function toList(value: Value): readonly JsonValue[] {
  if (isList(value)) return value;
  if (typeof value === 'string') return Array.from(value);
  return isJsonObject(value) ? Object.keys(value) : [];
}

export function toNumber(value: Value, fallback: number): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') {
    return /^\s*[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i.test(value)
      ? Number(value.replaceAll('_', ''))
      : fallback;
  }
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
}

/** `a.b` as an attribute goes two levels down. */
export function attributeOf(value: Value, attribute: Value): Value {
  if (typeof attribute !== 'string') return member(value, attribute);
  return attribute.split('.').reduce<Value>((of, key) => member(of, key), value);
}

export interface RenderLimits {
  /** Characters of the result, and of every text and list on the way. @default 1_000_000 */
  readonly output: number;
  /** Passes of all loops together. @default 100_000 */
  readonly iterations: number;
  /**
   * Steps of the renderer, and characters and items that operators, filters and methods handle.
   * @default 5_000_000
   */
  readonly work: number;
}

export const defaultLimits: RenderLimits = {
  output: 1_000_000,
  iterations: 100_000,
  work: 5_000_000,
};

/** What one rendering has used. Everything beyond its limits is a `RangeError`. */
export class Budget {
  readonly #limits: RenderLimits;
  readonly #sizes = new WeakMap<object, number>();
  #work = 0;
  #written = 0;
  #iterations = 0;

  constructor(limits: RenderLimits) {
    this.#limits = limits;
  }

  /** An arrow function, since operations get it without the budget. */
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

  write(text: string): string {
    this.#written += text.length;
    if (this.#written > this.#limits.output) throw new RangeError('the result is too long');
    return text;
  }

  bounded<T extends Value>(value: T): T {
    if (typeof value !== 'string' && !isList(value)) return value;
    this.spend(value.length);
    if (value.length > this.#limits.output) throw new RangeError('the result is too long');
    return value;
  }

  /**
   * Characters and items in a value, to the bottom. Values that hold one value many times are
   * counted in full, though not walked again: their text would be as long.
   */
  size(value: Value): number {
    if (typeof value === 'string') return value.length + 1;
    if (typeof value !== 'object' || value === null) return 1;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let size = 1;
    if (isList(value)) for (const item of value) size += this.size(item);
    else if (isJsonObject(value)) {
      for (const [key, item] of Object.entries(value)) size += key.length + this.size(item);
    }
    this.#sizes.set(value, size);
    return size;
  }
}
