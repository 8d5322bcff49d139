import { type JsonObject, type JsonValue, LegateError, isJsonObject } from '../protocol/index.ts';
import { compilePattern, type Pattern, PatternError } from './pattern.ts';
import { excessiveWork } from './validation-work.ts';

/** A schema for a validator, and a check to run before the validator. */
export interface SplitSchema {
  readonly schema: JsonObject;
  /**
   * Returns an error text that a model can act on. Returns undefined when every pattern matches and the
   * validation of the value takes a bounded number of steps.
   */
  readonly check: (value: JsonValue) => string | undefined;
}

/**
 * Removes the patterns from an untrusted JSON Schema (of an MCP server or an OpenAPI document), so that
 * no validator compiles them with `RegExp`: models, and through them users, write the values. `check`
 * runs the patterns below `properties`, `items` and `allOf` in linear time. The receiver of the value
 * checks all other patterns.
 * @throws LegateError for a reference that does not resolve to a schema in this document
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
  if (!isJsonObject(schema) || value === undefined) return undefined;
  const { pattern, properties, items, allOf } = schema;
  if (typeof value === 'string' && typeof pattern === 'string') {
    const isFine = patternOf(pattern)?.search(value) ?? true;
    if (!isFine) return `${path === '' ? '' : `${path}: `}must match pattern /${pattern}/`;
  }
  const inside: (readonly [JsonValue | undefined, JsonValue | undefined, string])[] = [];
  if (Array.isArray(allOf)) for (const one of allOf) inside.push([one, value, path]);
  if (Array.isArray(value)) {
    value.forEach((item: JsonValue, at) => inside.push([items, item, joined(path, String(at))]));
  } else if (isJsonObject(value) && isJsonObject(properties)) {
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

const references = ['$ref', '$dynamicRef', '$recursiveRef'];
const anchors = ['$anchor', '$dynamicAnchor'];
/** Keywords with plain values. Validators do not look for references or ids in them. */
const plainValues = new Set(['enum', 'const', 'default', 'dependentRequired']);
/** Keywords that the result omits. The targets of references move to the definitions of the root. */
const unused = new Set(['$defs', 'definitions', 'contentSchema', 'pattern', 'patternProperties']);
const maxLevels = 500;
/** Validators compile each schema, which takes some tenths of a millisecond. */
const maxSchemas = 5_000;

/** A schema resource: the scope in which `#` and anchors are resolved. */
interface Resource {
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
}

/**
 * Returns a schema without patterns in which every reference resolves to a schema of the same document,
 * so that `check` and the validator apply the same schemas. References become `#` or `#/$defs/r1`. Ids,
 * anchors and keywords that validators ignore are removed, since references could resolve to them. A
 * reference to anything else (a value, another document) is an error, and so is a document with more
 * than 5,000 schemas. `$dynamicRef` resolves like `$ref`.
 */
export function closedSchema(schema: JsonObject): JsonObject {
  return new Closing(schema).result();
}

class Closing {
  readonly #root: JsonObject;
  readonly #defsKey: '$defs' | 'definitions';
  readonly #known = new Map<JsonObject, Resource>();
  readonly #resources = new Map<string, Resource>();
  readonly #names = new Map<JsonObject, string>();

  constructor(root: JsonObject) {
    this.#root = root;
    const { $schema } = root;
    // Validators of drafts 4 to 7 look for definitions there.
    const isOld = typeof $schema === 'string' && /draft-0[4-7]/.test($schema);
    this.#defsKey = isOld ? 'definitions' : '$defs';
    this.#collect(root, undefined, 0);
    this.#names.set(root, '#');
    for (const one of this.#known.keys()) {
      for (const target of this.#targetsOf(one)) {
        if (!isJsonObject(target) || this.#names.has(target)) continue;
        this.#names.set(target, `#/${this.#defsKey}/r${this.#names.size}`);
      }
    }
  }

  result(): JsonObject {
    const body = this.#body(this.#root);
    const { $schema } = this.#root;
    const targets = [...this.#names].slice(1);
    return {
      ...(typeof $schema === 'string' && { $schema }),
      ...body,
      ...(targets.length > 0 && {
        [this.#defsKey]: Object.fromEntries(
          targets.map(([target, name]) => [
            name.slice(name.lastIndexOf('/') + 1),
            this.#body(target),
          ]),
        ),
      }),
    };
  }

  #collect(schema: JsonObject, outer: Resource | undefined, level: number): void {
    if (this.#known.has(schema)) return;
    if (level > maxLevels) throw refusal(`it is nested more than ${maxLevels} levels deep`);
    if (this.#known.size >= maxSchemas) throw refusal(`it has more than ${maxSchemas} parts`);
    const { $id } = schema;
    const id = typeof $id === 'string' ? $id.replace(/#$/, '') : '';
    const isNamed = id !== '' && !id.startsWith('#');
    const resource = outer === undefined || isNamed ? { root: schema, anchors: new Map() } : outer;
    if (isNamed && !this.#resources.has(id)) this.#resources.set(id, resource);
    // Drafts 6 and 7 write an anchor as an id.
    if (id.startsWith('#')) resource.anchors.set(id.slice(1), schema);
    for (const keyword of anchors) {
      const anchor = schema[keyword];
      if (typeof anchor === 'string') resource.anchors.set(anchor, schema);
    }
    this.#known.set(schema, resource);
    for (const [keyword, value] of Object.entries(schema)) {
      mapSchemas(keyword, value, (one) => {
        this.#collect(one, resource, level + 1);
        return one;
      });
    }
  }

  #targetsOf(schema: JsonObject): readonly (JsonObject | boolean)[] {
    return references.flatMap((keyword) => {
      const reference = schema[keyword];
      if (typeof reference !== 'string') return [];
      const target = this.#resolve(reference, this.#known.get(schema));
      if (target === undefined) {
        throw refusal(
          `${keyword} "${reference.slice(0, 100)}" does not resolve to a schema in this document; define it under $defs`,
        );
      }
      return [target];
    });
  }

  #resolve(reference: string, from: Resource | undefined): JsonObject | boolean | undefined {
    const [document = '', ...rest] = reference.split('#');
    const resource = document === '' ? from : this.#resources.get(document);
    const fragment = decoded(rest.join('#'));
    if (resource === undefined || fragment === undefined) return undefined;
    if (fragment === '') return resource.root;
    if (!fragment.startsWith('/')) return resource.anchors.get(fragment);
    let target: JsonValue | undefined = resource.root;
    for (const part of fragment.slice(1).split('/')) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      target = ownEntry(target, key);
    }
    if (typeof target === 'boolean') return target;
    return isJsonObject(target) && this.#known.has(target) ? target : undefined;
  }

  /** The schema inline, or a reference to its definition. */
  #placed(schema: JsonObject): JsonObject {
    const name = this.#names.get(schema);
    return name === undefined ? this.#body(schema) : { $ref: name };
  }

  #body(schema: JsonObject): JsonObject {
    const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
      if (key.startsWith('$') || unused.has(key)) return [];
      // The removed `patternProperties` decides which properties are additional.
      if (key === 'additionalProperties' && 'patternProperties' in schema) return [];
      if (plainValues.has(key)) return [[key, value]];
      const changed = mapSchemas(key, value, (one) => this.#placed(one));
      if (changed !== undefined) return [[key, changed]];
      // Validators try a duplicate type twice, on every level.
      if (key === 'type' && Array.isArray(value)) return [[key, [...new Set(value)]]];
      return isPlain(value) ? [[key, value]] : [];
    });
    const body: JsonObject = Object.fromEntries(entries);
    const targets = this.#targetsOf(schema).map((target): JsonValue => {
      return isJsonObject(target) ? { $ref: this.#names.get(target) ?? '#' } : target;
    });
    const [only, ...others] = targets;
    if (isJsonObject(only) && others.length === 0) return { ...body, ...only };
    const { allOf } = body;
    return targets.length === 0
      ? body
      : { ...body, allOf: [...(Array.isArray(allOf) ? allOf : []), ...targets] };
  }
}

function isPlain(value: JsonValue): boolean {
  const parts: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  return parts.every((part) => typeof part !== 'object' || part === null);
}

/** An own entry only: a key can be `constructor`. */
function ownEntry(target: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(target)) return /^(?:0|[1-9]\d*)$/.test(key) ? target[Number(key)] : undefined;
  return isJsonObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function refusal(reason: string): LegateError {
  return new LegateError('PEER_INVALID', `the JSON Schema can not be used: ${reason}`);
}

/** Keywords of JSON Schema with a schema, with a list of schemas, and with schemas by name. */
const oneSchema = new Set(
  'not if then else items contains additionalItems unevaluatedItems additionalProperties unevaluatedProperties propertyNames contentSchema'.split(
    ' ',
  ),
);
const listOfSchemas = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
const schemasByName = new Set(
  'properties patternProperties dependentSchemas dependencies $defs definitions'.split(' '),
);

/**
 * Applies `change` to each schema in the value of a keyword. Returns undefined if the keyword contains
 * no schemas. Other values (a list of names in `dependencies`) stay unchanged.
 */
export function mapSchemas(
  keyword: string,
  value: JsonValue,
  change: (schema: JsonObject) => JsonValue,
): JsonValue | undefined {
  const changed = (one: JsonValue): JsonValue => (isJsonObject(one) ? change(one) : one);
  if (Array.isArray(value)) return listOfSchemas.has(keyword) ? value.map(changed) : undefined;
  if (!isJsonObject(value)) return undefined;
  if (oneSchema.has(keyword)) return change(value);
  if (!schemasByName.has(keyword)) return undefined;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one)]));
}
