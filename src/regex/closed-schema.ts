import { type JsonObject, type JsonValue, LegateError } from '../protocol/index.ts';
import { isObject, mapSchemas } from './schema-keywords.ts';

const references = ['$ref', '$dynamicRef', '$recursiveRef'];
const anchors = ['$anchor', '$dynamicAnchor'];
/** Values, not schemas; validators look for no references and no ids in them. */
const plainValues = new Set(['enum', 'const', 'default', 'dependentRequired']);
/** Only for references: what they lead to stands in one place of its own. */
const unused = new Set(['$defs', 'definitions', 'contentSchema', 'pattern', 'patternProperties']);
const maxLevels = 500;
/** Validators compile each of them: some tenths of a millisecond. */
const maxSchemas = 5_000;

/** A schema with an id, in which `#` and anchors have their meaning. */
interface Resource {
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
}

/**
 * A schema without patterns whose references all lead to schemas in it, so that what is checked
 * here is what a validator runs: references become `#` or `#/$defs/r1`, and ids, anchors and
 * keywords that validators do not know are left out, since references could lead to them.
 * A reference to anything else (a value, another document) is an error, and so is a schema with
 * more than 5,000 schemas in it. `$dynamicRef` leads where
 * a `$ref` would.
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
    // Where validators of these drafts look for them.
    const isOld = typeof $schema === 'string' && /draft-0[4-7]/.test($schema);
    this.#defsKey = isOld ? 'definitions' : '$defs';
    this.#collect(root, undefined, 0);
    this.#names.set(root, '#');
    for (const one of this.#known.keys()) {
      for (const target of this.#targetsOf(one)) {
        if (!isObject(target) || this.#names.has(target)) continue;
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
          `${keyword} "${reference.slice(0, 100)}" leads to no schema in it; put what it means below $defs`,
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
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) {
        return undefined;
      }
      target = (target as JsonObject)[key];
    }
    if (typeof target === 'boolean') return target;
    return isObject(target) && this.#known.has(target) ? target : undefined;
  }

  /** In its place, or a reference to where it stands. */
  #placed(schema: JsonObject): JsonObject {
    const name = this.#names.get(schema);
    return name === undefined ? this.#body(schema) : { $ref: name };
  }

  #body(schema: JsonObject): JsonObject {
    const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
      if (key.startsWith('$') || unused.has(key)) return [];
      // Which properties are additional ones depends on the patterns.
      if (key === 'additionalProperties' && 'patternProperties' in schema) return [];
      if (plainValues.has(key)) return [[key, value]];
      const changed = mapSchemas(key, value, (one) => this.#placed(one));
      if (changed !== undefined) return [[key, changed]];
      // A type that is named twice is tried twice, on every level.
      if (key === 'type' && Array.isArray(value)) return [[key, [...new Set(value)]]];
      return isPlain(value) ? [[key, value]] : [];
    });
    const body: JsonObject = Object.fromEntries(entries);
    const targets = this.#targetsOf(schema).map((target): JsonValue => {
      return isObject(target) ? { $ref: this.#names.get(target) ?? '#' } : target;
    });
    const [only, ...others] = targets;
    if (isObject(only) && others.length === 0) return { ...body, ...only };
    const { allOf } = body;
    return targets.length === 0
      ? body
      : { ...body, allOf: [...(Array.isArray(allOf) ? (allOf as JsonValue[]) : []), ...targets] };
  }
}

function isPlain(value: JsonValue): boolean {
  const parts: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  return parts.every((part) => typeof part !== 'object' || part === null);
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
