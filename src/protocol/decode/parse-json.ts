import { LegateError } from '../errors.ts';
import type { JsonValue } from '../model.ts';

/** Limits of `parseJson`. */
export interface ParseJsonOptions {
  /** Levels of objects and arrays. @default 64 */
  readonly maxDepth?: number;
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * Parses JSON from the wire; throws `PARSE_ERROR` for invalid JSON. The depth is checked before any value
 * is created. Members named `__proto__` are dropped: the protocol has none, and code that copies objects
 * by assignment would change their prototype.
 */
export function parseJson(text: string, options: ParseJsonOptions = {}): JsonValue {
  const maxDepth = options.maxDepth ?? 64;
  if (isDeeper(text, maxDepth)) {
    throw new LegateError('PARSE_ERROR', `the JSON nests deeper than ${maxDepth} levels`);
  }
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const position = /position (\d+)/.exec(String(error))?.[1];
    const where = position === undefined ? '' : ` at position ${position}`;
    throw new LegateError('PARSE_ERROR', `Invalid JSON payload${where}`, { cause: error });
  }
  // The name may also be spelled with \u escapes.
  if (text.includes('__proto__') || text.includes('\\u00')) dropProto(value);
  return value;
}

/** Parses text that might not be JSON; returns `otherwise` then. */
export function parseJsonOr<T>(text: string, otherwise: T): JsonValue | T {
  try {
    return parseJson(text);
  } catch {
    return otherwise;
  }
}

function isDeeper(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      index = endOfString(text, index);
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
    }
  }
  return false;
}

/** The index of the quote that ends the string, or the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let first = end;
    while (text.charCodeAt(first - 1) === backslash) first -= 1;
    if ((end - first) % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

function dropProto(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) dropProto(item);
    return;
  }
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const item of Object.values(value)) dropProto(item);
}
