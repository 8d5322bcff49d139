import type { JsonValue } from '../../../src/protocol/index.ts';

/** Parses text that might not be JSON. Unlike a server, the page parses without limits. */
export function parseJsonOr<T>(text: string, otherwise: T): JsonValue | T {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
