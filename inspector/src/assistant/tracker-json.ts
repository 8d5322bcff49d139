import type { JsonObject, JsonValue } from '../../../src/protocol/index.ts';

/** Reads fields of tracker JSON, which is untrusted: values of the wrong type count as absent. */

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  const isJsonObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isJsonObject ? (value as JsonObject) : {};
}

export function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
