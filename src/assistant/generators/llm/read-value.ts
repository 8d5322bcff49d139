import type { JsonValue } from '../../../protocol/index.ts';
import { coerceSlotValue } from '../../domain/index.ts';
import type { Slot } from '../../model.ts';
import { findNumbers } from '../matching/values/index.ts';
import { readMessage } from '../words/index.ts';

const clearing = /^(?:null|none|undefined|nil|empty|n\/a|)$/i;

/** Quotes, backticks and the like around a value, in pairs or alone at either end. */
function unwrap(text: string): string {
  const trimmed = text.trim();
  const quoted = /^(["'`\u201c\u2018]+)(.*?)(?:["'`\u201d\u2019]+)/s.exec(trimmed);
  if (quoted !== null && quoted[2] !== undefined) {
    // An apostrophe inside ("Bob's") is no closing quote: the pair must match.
    const mark = quoted[1]?.[0] ?? '';
    const close = { '\u201c': '\u201d', '\u2018': '\u2019' }[mark] ?? mark;
    const end = trimmed.lastIndexOf(close);
    if (end > 0) return trimmed.slice(quoted[1]?.length ?? 1, end).trim();
  }
  return trimmed.replace(/^[`"]+|[`"]+$/g, '').trim();
}

/**
 * A value as a model writes it, as the slot wants it. What the slot does not take stays as it was
 * written: the engine tells the user what is wrong with it.
 */
export function readValue(slot: Slot, written: JsonValue): JsonValue {
  if (written === null) return null;
  if (typeof written !== 'string') return coerced(slot, written) ?? written;
  const text = unwrap(written);
  const direct = coerced(slot, text);
  const isDeclared = slot.type === 'categorical' && direct !== undefined;
  if (clearing.test(text) && !isDeclared) return null;
  if (slot.type === 'text' || slot.type === 'any') return text;
  if (direct !== undefined) return direct;
  switch (slot.type) {
    case 'bool': {
      const word = /^(true|false|yes|no)\b/i.exec(text)?.[1];
      return word === undefined ? text : (coerced(slot, word) ?? text);
    }
    case 'float':
      return findNumbers(readMessage(text))[0]?.value ?? text;
    case 'categorical':
      return longestBeginning(slot, text) ?? text;
    default:
      return text;
  }
}

/** "savings (as the user said)": the longest declared value that the text begins with. */
function longestBeginning(slot: Slot, text: string): JsonValue | undefined {
  const lower = text.toLowerCase();
  const fitting = (slot.values ?? []).filter((value) => {
    const name = wordOf(value).toLowerCase();
    return lower.startsWith(name) && !/^[\p{L}\p{N}]/u.test(lower.slice(name.length));
  });
  return fitting.toSorted((one, two) => wordOf(two).length - wordOf(one).length)[0];
}

function wordOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function coerced(slot: Slot, value: JsonValue): JsonValue | undefined {
  const result = coerceSlotValue(slot, value);
  return result.ok ? result.value : undefined;
}
