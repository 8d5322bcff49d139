import type { JsonObject, JsonValue } from '../model.ts';
import { isObject, type Reader, type Wire } from './reader.ts';
import { isUnset } from './scalars.ts';

/** An object of any JSON, such as metadata. It is checked, and not copied. */
export function optionalStruct(
  reader: Reader,
  value: unknown,
  field: string,
): JsonObject | undefined {
  if (isUnset(value)) return undefined;
  if (!isObject(value)) {
    reader.fail(field, 'must be an object');
    return undefined;
  }
  return jsonValue(reader, value, field) as JsonObject | undefined;
}

/** Any JSON within the allowed depth. */
export function jsonValue(reader: Reader, value: unknown, field: string): JsonValue | undefined {
  const fault = faultOf(value, reader.limits.maxValueDepth);
  if (fault === undefined) return value as JsonValue;
  reader.fail(
    field,
    fault === 'depth' ? `must not nest deeper than ${reader.limits.maxValueDepth} levels` : fault,
  );
  return undefined;
}

/** The recursion is bounded by `levels`, so no input can exhaust the stack. */
function faultOf(value: unknown, levels: number): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : 'must be JSON: it holds a number that is not finite';
    case 'object':
      break;
    default:
      return `must be JSON: it holds a value of type ${typeof value}`;
  }
  if (value === null) return undefined;
  if (levels === 0) return 'depth';
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      const fault = faultOf(item, levels - 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    // Code that copies the object by assignment would change the copy's prototype.
    if (key === '__proto__') return 'must not have a member named __proto__';
    const fault = faultOf((value as Wire)[key], levels - 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A map from names to objects or other values. */
export function optionalMap<T>(
  reader: Reader,
  value: unknown,
  field: string,
  read: (reader: Reader, value: unknown, name: string) => T | undefined,
): { [name: string]: T } | undefined {
  if (isUnset(value)) return undefined;
  if (!isObject(value)) {
    reader.fail(field, 'must be an object');
    return undefined;
  }
  const names = Object.keys(value);
  if (names.length > reader.limits.maxListLength) {
    reader.fail(field, `must have at most ${reader.limits.maxListLength} entries`);
    return undefined;
  }
  const map: { [name: string]: T } = {};
  reader.enter(field);
  for (const name of names) {
    const item = name === '__proto__' ? undefined : read(reader, value[name], name);
    if (item !== undefined) map[name] = item;
    else if (name === '__proto__') reader.fail('', 'must not have a member named __proto__');
  }
  reader.leave();
  return map;
}
