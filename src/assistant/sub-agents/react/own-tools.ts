import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { JsonValue } from '../../../protocol/index.ts';
import { coerceSlotValue } from '../../domain/index.ts';
import type { Slot } from '../../model.ts';

export const TASK_COMPLETED = 'task_completed';
const SET_SLOT = 'set_slot_';

/** Ends an open-ended agent. */
export const taskCompleted: LanguageModelV4FunctionTool = {
  type: 'function',
  name: TASK_COMPLETED,
  description: 'Says that the task is done. Write what the user should know beside the call.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  strict: true,
};

/** Fills a slot that ends a task-specific agent. */
export function setSlotTool(slot: Slot): LanguageModelV4FunctionTool {
  const values = slot.type === 'bool' ? ['true', 'false'] : slot.values?.map(String);
  const allowed = values === undefined ? '' : ` One of: ${values.join(', ')}.`;
  return {
    type: 'function',
    name: `${SET_SLOT}${slot.name}`,
    description: `Stores the value of ${slot.name} (${slot.type}).${allowed}`,
    inputSchema: {
      type: 'object',
      properties: { slot_value: { type: 'string', description: 'The value, as text.' } },
      required: ['slot_value'],
      additionalProperties: false,
    },
    strict: true,
  };
}

/** The slot that a call wants to fill, when it is such a call. */
export function slotOfCall(tool: string): string | undefined {
  return tool.startsWith(SET_SLOT) ? tool.slice(SET_SLOT.length) : undefined;
}

export type SlotReading =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly problem: string };

/** What a model gave as a slot's value, as the slot wants it. */
export function readSlotValue(slot: Slot, input: JsonValue): SlotReading {
  const given =
    typeof input === 'object' && input !== null && 'slot_value' in input
      ? (input.slot_value ?? null)
      : null;
  const text = typeof given === 'string' ? given.trim() : given;
  if (text === null || text === '') return { ok: false, problem: 'slot_value is missing' };
  const coerced = coerceSlotValue(slot, parsedFor(slot, text));
  if (coerced.ok) return { ok: true, value: coerced.value };
  const values =
    slot.values === undefined ? '' : `; use one of ${slot.values.map(String).join(', ')}`;
  return { ok: false, problem: `${slot.name} takes no such value: it is ${slot.type}${values}` };
}

/** Lists and objects come as text as well. */
function parsedFor({ type }: Slot, text: JsonValue): JsonValue {
  if (typeof text !== 'string' || (type !== 'list' && type !== 'any')) return text;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
