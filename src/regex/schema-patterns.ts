import type { JsonObject, JsonValue } from '../protocol/index.ts';
import { closedSchema } from './closed-schema.ts';
import { PatternError } from './pattern-error.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import { isObject } from './schema-keywords.ts';
import { excessiveWork } from './validation-work.ts';

/** A schema that a validator can run, and a check that comes before it. */
export interface SplitSchema {
  readonly schema: JsonObject;
  /**
   * What is wrong, in words that a model can act on; undefined when every pattern matches and the
   * schema takes a bounded number of steps on the value.
   */
  readonly check: (value: JsonValue) => string | undefined;
}

/**
 * Takes the patterns out of a JSON Schema that comes from elsewhere (an MCP server, an OpenAPI
 * document), so that no validator compiles them with `RegExp`: values are written by models, and so
 * by users. They are checked in linear time where they stand below `properties`, `items` and
 * `allOf`; the receiver of the value checks the others.
 * @throws LegateError for a reference that leads to no schema in this one
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
  const closed = closedSchema(schema);
  return {
    schema: closed,
    check: (value) => {
      const excess = excessiveWork(closed, value);
      if (excess !== undefined) return `the value can not be checked: ${excess}`;
      return problemIn(schema, value, '', patternOf);
    },
  };
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
