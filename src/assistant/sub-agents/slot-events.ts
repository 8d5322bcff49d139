import type { JsonValue } from '../../protocol/index.ts';
import { coerceSlotValue } from '../domain/coerce.ts';
import type { Domain } from '../model.ts';
import type { EventDraft } from '../tracker/events.ts';

/** The slot value that an event sets, coerced to the slot's type; undefined when it sets none. */
export function slotOfEvent(
  { event, name, value = null }: EventDraft,
  { slots }: Domain,
): { readonly name: string; readonly value: JsonValue } | undefined {
  const slot = event === 'slot' && typeof name === 'string' ? slots.get(name) : undefined;
  if (slot === undefined) return undefined;
  const coerced = coerceSlotValue(slot, value);
  return coerced.ok ? { name: slot.name, value: coerced.value } : undefined;
}
