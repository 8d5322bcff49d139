import type { JsonValue } from '../../protocol/index.ts';
import { isList, isMapping, member, type Value } from './value.ts';

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
  return isMapping(value) ? Object.keys(value) : [];
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
