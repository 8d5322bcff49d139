import type { JsonObject, JsonValue } from '../protocol/index.ts';

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
 * The value of a keyword with each schema in it changed; undefined where the keyword holds no
 * schemas. Other values (a list of names in `dependencies`) stay as they are.
 */
export function mapSchemas(
  keyword: string,
  value: JsonValue,
  change: (schema: JsonObject) => JsonValue,
): JsonValue | undefined {
  const changed = (one: JsonValue): JsonValue => (isObject(one) ? change(one) : one);
  if (Array.isArray(value)) return listOfSchemas.has(keyword) ? value.map(changed) : undefined;
  if (!isObject(value)) return undefined;
  if (oneSchema.has(keyword)) return change(value);
  if (!schemasByName.has(keyword)) return undefined;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one)]));
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
