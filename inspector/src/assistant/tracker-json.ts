import type { JsonObject, JsonValue } from '../../../src/protocol/index.ts';

/** Fields of tracker JSON, which may come from anywhere: whatever does not fit counts as absent. */

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
