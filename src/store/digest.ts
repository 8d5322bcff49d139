import { hash } from 'node:crypto';
import type { JsonValue } from '../protocol/index.ts';

/** A key for values of any length, the same in every process. */
export function digestOf(...values: readonly JsonValue[]): string {
  return hash('sha256', JSON.stringify(values), 'base64url');
}

/**
 * An id for the thing that the values identify, such as a message that must keep its id when its turn
 * runs again.
 */
export function digestId(...values: readonly JsonValue[]): string {
  return digestOf(...values).slice(0, 32);
}

/** A strong entity tag. */
export function etagOf(content: string | Buffer): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 27)}"`;
}
