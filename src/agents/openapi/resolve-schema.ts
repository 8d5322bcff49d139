import {
  invalidConfiguration,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '../../protocol/index.ts';

/** Maximum depth. Deeper or circular schemas accept any value. */
const deepest = 12;
const maxNodes = 20_000;

/** Keywords of API descriptions that JSON Schema does not have, or that models do not need. */
const foreign = new Set(
  'xml externalDocs discriminator example examples nullable deprecated readOnly writeOnly $schema $id'.split(
    ' ',
  ),
);

/** Reads the parts of an API description. Follows `$ref` only within the document. */
export class SchemaResolver {
  readonly #document: JsonObject;
  #nodes = 0;

  constructor(document: JsonObject) {
    this.#document = document;
  }

  /** The object itself, or the one it refers to. */
  follow(value: JsonValue | undefined): JsonObject | undefined {
    let current = value;
    for (let hops = 0; hops < deepest; hops += 1) {
      if (!isJsonObject(current)) return undefined;
      const reference = current['$ref'];
      if (typeof reference !== 'string') return current;
      current = this.#lookUp(reference);
    }
    return undefined;
  }

  /** Returns the schema with its references resolved. */
  schema(value: JsonValue | undefined, trail: readonly string[] = []): JsonObject {
    this.#nodes += 1;
    if (this.#nodes > maxNodes) {
      throw invalidConfiguration(
        `the API description has more than ${maxNodes} schemas when its references are followed`,
      );
    }
    if (!isJsonObject(value) || trail.length > deepest) return {};
    const reference = value['$ref'];
    if (typeof reference === 'string') {
      if (trail.includes(reference)) return {};
      return this.schema(this.#lookUp(reference), [...trail, reference]);
    }
    const inner = [...trail, ''];
    const entries = Object.entries(value).flatMap(([key, each]): [string, JsonValue][] => {
      if (foreign.has(key) || key.startsWith('x-')) return [];
      if (key === 'properties' && isJsonObject(each)) {
        const properties = Object.entries(each).map(
          ([name, property]) => [name, this.schema(property, inner)] as const,
        );
        return [[key, Object.fromEntries(properties)]];
      }
      if (key === 'additionalProperties' && typeof each === 'boolean') return [[key, each]];
      if (['items', 'not', 'additionalProperties'].includes(key))
        return [[key, this.schema(each, inner)]];
      if (['allOf', 'anyOf', 'oneOf'].includes(key)) {
        const list = isJsonList(each) ? each : [];
        return [[key, list.map((item) => this.schema(item, inner))]];
      }
      // In OpenAPI 3.0, these are flags beside the bound. Dropping them makes the schema slightly too
      // lax.
      if (typeof each === 'boolean' && key.startsWith('exclusive')) return [];
      return [[key, each]];
    });
    const schema = Object.fromEntries(entries);
    const { type } = schema;
    return value['nullable'] === true && typeof type === 'string'
      ? { ...schema, type: [type, 'null'] }
      : schema;
  }

  #lookUp(reference: string): JsonValue | undefined {
    if (!reference.startsWith('#/')) {
      throw invalidConfiguration(
        `the API description refers to ${reference}; only references within the document are followed`,
      );
    }
    let current: JsonValue | undefined = this.#document;
    for (const part of reference.slice(2).split('/')) {
      const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
      current = isJsonObject(current) && Object.hasOwn(current, key) ? current[key] : undefined;
    }
    return current;
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
