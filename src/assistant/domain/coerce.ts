import type { JsonValue } from '../../protocol/index.ts';
import type { Slot } from '../model.ts';

export type Coerced = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false };

const refused: Coerced = { ok: false };
const truths = new Set(['true', 'yes', 'y', 'on', '1']);
const falsehoods = new Set(['false', 'no', 'n', 'off', '0']);

/**
 * Turns a value into what the slot's type demands: numbers out of texts, booleans out of words,
 * categories in their declared casing. Null empties any slot.
 * @example coerceSlotValue(amount, '12.50') // { ok: true, value: 12.5 }
 */
export function coerceSlotValue(slot: Slot, value: JsonValue): Coerced {
  if (value === null) return accepted(null);
  switch (slot.type) {
    case 'any':
      return accepted(value);
    case 'list':
      return Array.isArray(value) ? accepted(value) : refused;
    case 'text':
      return typeof value === 'object' ? refused : accepted(String(value));
    case 'bool':
      return coerceBoolean(value);
    case 'float':
      return coerceNumber(slot, value);
    case 'categorical':
      return coerceCategory(slot, value);
  }
}

function accepted(value: JsonValue): Coerced {
  return { ok: true, value };
}

function coerceBoolean(value: JsonValue): Coerced {
  if (typeof value === 'boolean') return accepted(value);
  if (typeof value === 'object') return refused;
  const word = String(value).trim().toLowerCase();
  if (truths.has(word)) return accepted(true);
  return falsehoods.has(word) ? accepted(false) : refused;
}

/** The range counts only when both of its ends are given. */
function coerceNumber({ minValue, maxValue }: Slot, value: JsonValue): Coerced {
  const isNumeral =
    typeof value === 'string' && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value.trim());
  const number = isNumeral ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return refused;
  const isInRange =
    minValue === undefined || maxValue === undefined || (number >= minValue && number <= maxValue);
  return isInRange ? accepted(number) : refused;
}

function coerceCategory({ values = [] }: Slot, value: JsonValue): Coerced {
  if (typeof value === 'object') return refused;
  const exact = values.find((one) => one === value);
  if (exact !== undefined) return accepted(exact);
  const wanted = String(value).trim().toLowerCase();
  const near = values.find(
    (one) => typeof one !== 'object' && String(one).toLowerCase() === wanted,
  );
  return near === undefined ? refused : accepted(near);
}
