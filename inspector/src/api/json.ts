import type { JsonValue } from '../../../src/protocol/index.ts';

/** Parses JSON that may be something else. The page parses without the limits of a server. */
export function parseJsonOr<T>(text: string, otherwise: T): JsonValue | T {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
