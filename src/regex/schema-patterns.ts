import type { JsonObject, JsonValue } from '../protocol/index.ts';
import { PatternError } from './pattern-error.ts';
import { compilePattern, type Pattern } from './pattern.ts';

/** Keys whose values are schemas by name, and keys whose values are no schemas at all. */
const schemasByName = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
const plainValues = new Set(['enum', 'const', 'default', 'examples']);

/** A schema without patterns, and a check for those that it had. */
export interface SplitSchema {
  readonly schema: JsonObject;
  /** What is wrong, in words that a model can act on; undefined when every pattern matches. */
  readonly check: (value: JsonValue) => string | undefined;
}

/**
 * Takes the patterns out of a JSON Schema that comes from elsewhere (an MCP server, an OpenAPI
 * document), so that no validator compiles them with `RegExp`: values are written by models, and so
 * by users. They are checked in linear time where they stand below `properties`, `items` and
 * `allOf`; whoever takes the value checks the others.
 */
export function splitPatterns(schema: JsonObject): SplitSchema {
  const compiled = new Map<string, Pattern | undefined>();
  const patternOf = (source: string): Pattern | undefined => {
    if (compiled.has(source)) return compiled.get(source);
    let pattern: Pattern | undefined;
    try {
      pattern = compilePattern(source);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
    }
    compiled.set(source, pattern);
    return pattern;
  };
  return {
    schema: withoutPatterns(schema) as JsonObject,
    check: (value) => problemIn(schema, value, '', patternOf),
  };
}

function withoutPatterns(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
    if (key === 'pattern' || key === 'patternProperties') return [];
    // Which properties are additional ones depends on the patterns.
    if (key === 'additionalProperties' && 'patternProperties' in schema) return [];
    if (plainValues.has(key)) return [[key, value]];
    if (!schemasByName.has(key) || !isObject(value)) return [[key, withoutPatterns(value)]];
    const inner = Object.entries(value).map(([name, one]) => [name, withoutPatterns(one)]);
    return [[key, Object.fromEntries(inner) as JsonObject]];
  });
  return Object.fromEntries(entries);
}

function problemIn(
  schema: JsonValue | undefined,
  value: JsonValue | undefined,
  path: string,
  patternOf: (source: string) => Pattern | undefined,
): string | undefined {
  if (!isObject(schema) || value === undefined) return undefined;
  const { pattern, properties, items, allOf } = schema;
  if (typeof value === 'string' && typeof pattern === 'string') {
    const isFine = patternOf(pattern)?.search(value) ?? true;
    if (!isFine) return `${path === '' ? '' : `${path}: `}must match pattern /${pattern}/`;
  }
  const inside: (readonly [JsonValue | undefined, JsonValue | undefined, string])[] = [];
  if (Array.isArray(allOf)) for (const one of allOf) inside.push([one, value, path]);
  if (Array.isArray(value)) {
    value.forEach((item: JsonValue, at) => inside.push([items, item, joined(path, String(at))]));
  } else if (isObject(value) && isObject(properties)) {
    for (const [name, one] of Object.entries(properties)) {
      if (Object.hasOwn(value, name)) inside.push([one, value[name], joined(path, name)]);
    }
  }
  for (const [one, part, where] of inside) {
    const problem = problemIn(one, part, where, patternOf);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
