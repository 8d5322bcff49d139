import type { JsonValue } from './model.ts';

/** A value as text: a string as it is, other values as JSON. */
export function textOfValue(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The start of a text, with a mark where it is cut. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}
