import { type Json, type JsonValue, LegateError } from '../protocol/index.ts';

/** What a counter stands at. A record that holds no number is no counter. */
export function counterValue(
  value: Json<JsonValue> | undefined,
  space: string,
  key: string,
): number {
  if (value === undefined) return 0;
  if (typeof value.value === 'number') return value.value;
  throw new LegateError('INTERNAL', `record ${space}/${key} holds no number: it is no counter`);
}
