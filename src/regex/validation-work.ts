import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/index.ts';

/** Steps allowed for any value, and steps allowed per nested value of a large one. */
const fewestSteps = 100_000;
const stepsPerValue = 10;
/** Comparisons of values and names that take about as long as one step. */
const comparisonsPerStep = 50;
const maxLevels = 1_000;

const inPlace = ['not', 'if', 'then', 'else', '$ref'];
const inPlaceLists = ['allOf', 'anyOf', 'oneOf'];

/**
 * Bounds the work of a validation before a validator runs. A schema of a few lines can require 2^40
 * steps (each of 40 schemas refers twice to the one before), and validators execute all of them. One
 * step is one schema applied to one part of the value. Each such pair is counted once, so that counting
 * does not exceed the bound either: 100,000 steps, or 10 steps per nested value if that is more.
 * @param schema with references as `closedSchema` writes them
 * @returns why the value can not be checked; undefined when it can
 */
export function excessiveWork(schema: JsonObject, value: JsonValue): string | undefined {
  try {
    new Work(schema, value).count();
    return undefined;
  } catch (error) {
    if (error instanceof Excess) return error.message;
    throw error;
  }
}

class Excess extends Error {}

/** A part of the value, with the steps of each schema on it; undefined while they are counted. */
interface Part {
  readonly value: JsonValue;
  readonly steps: Map<JsonObject, number | undefined>;
  readonly inside: Map<string, Part>;
}

class Work {
  readonly #root: JsonObject;
  readonly #value: JsonValue;
  readonly #sizes = new Map<JsonValue, number>();
  readonly #most: number;
  #pairs = 0;

  constructor(root: JsonObject, value: JsonValue) {
    this.#root = root;
    this.#value = value;
    this.#most = Math.max(fewestSteps, stepsPerValue * this.#size(value, 0));
  }

  count(): void {
    this.#steps(this.#root, toPart(this.#value), 0);
  }

  #steps(schema: JsonValue | undefined, part: Part, level: number): number {
    if (!isJsonObject(schema)) return 0;
    if (part.steps.has(schema)) {
      const known = part.steps.get(schema);
      if (known === undefined) throw new Excess('its JSON Schema is infinitely recursive');
      return known;
    }
    if (level > maxLevels * 2) throw new Excess('its JSON Schema has too many levels');
    part.steps.set(schema, undefined);
    this.#pairs += 1;
    let sum = this.#own(schema, part);
    this.#bound(sum);
    this.#bound(this.#pairs);
    const add = (one: JsonValue | undefined, at: Part): void => {
      sum += this.#steps(one, at, level + 1);
      this.#bound(sum);
    };
    for (const keyword of inPlace) add(this.#target(schema[keyword]), part);
    for (const keyword of inPlaceLists) for (const one of listOf(schema[keyword])) add(one, part);
    if (Array.isArray(part.value)) inArray(schema, part, add);
    else if (isJsonObject(part.value)) inObject(schema, part, part.value, add);
    part.steps.set(schema, sum);
    return sum;
  }

  /** The steps of a schema's own keywords, without those of its subschemas. */
  #own(schema: JsonObject, { value }: Part): number {
    const { enum: values, required, properties, uniqueItems } = schema;
    let comparisons = listOf(values).length + listOf(required).length;
    if (isJsonObject(properties)) comparisons += Object.keys(properties).length;
    // Each item is compared with all others.
    if (uniqueItems === true && Array.isArray(value) && !isScalar(schema['items'])) {
      comparisons += (value.length * this.#size(value, 0)) / 2;
    }
    return 1 + Math.floor(comparisons / comparisonsPerStep);
  }

  #target(value: JsonValue | undefined): JsonValue | undefined {
    if (typeof value !== 'string') return value;
    if (value === '#') return this.#root;
    const [, key = '', name = ''] = value.split('/');
    const schemas = this.#root[key];
    return isJsonObject(schemas) ? schemas[name] : undefined;
  }

  #bound(steps: number): void {
    if (steps <= this.#most) return;
    throw new Excess(`its JSON Schema takes more than ${this.#most} steps to check it`);
  }

  /** The number of values inside a value, including itself. */
  #size(value: JsonValue, level: number): number {
    if (typeof value !== 'object' || value === null) return 1;
    if (level > maxLevels) throw new Excess(`it is nested more than ${maxLevels} levels deep`);
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let size = 1;
    for (const one of Object.values<JsonValue>(value)) size += this.#size(one, level + 1);
    this.#sizes.set(value, size);
    return size;
  }
}

type Add = (schema: JsonValue | undefined, part: Part) => void;

function inArray(schema: JsonObject, part: Part, add: Add): void {
  const { items, prefixItems, additionalItems, unevaluatedItems, contains } = schema;
  listOf(part.value).forEach((item, index) => {
    const at = partOf(part, String(index), item);
    add(listOf(prefixItems)[index], at);
    add(Array.isArray(items) ? listOf(items)[index] : items, at);
    for (const one of [additionalItems, unevaluatedItems, contains]) add(one, at);
  });
}

function inObject(schema: JsonObject, part: Part, value: JsonObject, add: Add): void {
  const { properties, additionalProperties, unevaluatedProperties, propertyNames } = schema;
  for (const keyword of ['dependentSchemas', 'dependencies']) {
    const byName = schema[keyword];
    if (!isJsonObject(byName)) continue;
    for (const [name, one] of Object.entries(byName))
      if (Object.hasOwn(value, name)) add(one, part);
  }
  const applied = [properties, additionalProperties, unevaluatedProperties, propertyNames];
  if (!applied.some(isJsonObject)) return;
  for (const [name, one] of Object.entries(value)) {
    const at = partOf(part, name, one);
    const isKnown = isJsonObject(properties) && Object.hasOwn(properties, name);
    add(isKnown ? properties[name] : additionalProperties, at);
    add(unevaluatedProperties, at);
    if (isJsonObject(propertyNames)) add(propertyNames, toPart(name));
  }
}

function toPart(value: JsonValue): Part {
  return { value, steps: new Map(), inside: new Map() };
}

function partOf(part: Part, key: string, value: JsonValue): Part {
  const known = part.inside.get(key);
  if (known !== undefined) return known;
  const made = toPart(value);
  part.inside.set(key, made);
  return made;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function isScalar(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  const { type } = schema;
  return typeof type === 'string' && type !== 'object' && type !== 'array';
}
