import type { JsonValue } from '../../protocol/index.ts';
import { argument, type Operation, toNumber } from './operation.ts';
import { isList, isMapping, isTruthy } from './value.ts';

const unicode = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * JSON as the filter of Jinja2 writes it: keys sorted, a space behind commas and colons, and only
 * ASCII characters that are harmless in HTML. `ensure_ascii=false` leaves every character readable,
 * `sort_keys=false` leaves the keys in their order.
 */
export const tojson: Operation = (value, call) => {
  const indent = Math.min(8, Math.max(0, toNumber(argument(call, 0, 'indent'), 0)));
  const isSorted = isTruthy(call.named.get('sort_keys') ?? true);
  const text = write(value ?? null, indent, isSorted, '\n');
  if (!isTruthy(call.named.get('ensure_ascii') ?? true)) return text;
  return text.replace(/[<>&'\u007f-\uffff]/g, unicode);
};

/** `line` is a line break and the indentation of what stands around the value. */
function write(value: JsonValue, indent: number, isSorted: boolean, line: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = line + ' '.repeat(indent);
  const between = (items: readonly string[], open: string, close: string): string => {
    if (items.length === 0 || indent === 0) return open + items.join(', ') + close;
    return open + inner + items.join(`,${inner}`) + line + close;
  };
  if (isList(value)) {
    return between(
      value.map((item) => write(item, indent, isSorted, inner)),
      '[',
      ']',
    );
  }
  if (!isMapping(value)) return 'null';
  const keys = isSorted ? Object.keys(value).sort() : Object.keys(value);
  const pairs = keys.map(
    (key) => `${JSON.stringify(key)}: ${write(value[key] ?? null, indent, isSorted, inner)}`,
  );
  return between(pairs, '{', '}');
}
