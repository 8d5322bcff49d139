import { coerceSlotValue } from '../domain/index.ts';
import type { EventDraft } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';

/** What actions and agents may not do: the stack, the turns and the sessions are ours. */
const OURS = new Set(['stack', 'user', 'action', 'session_started']);

/** Events of actions and agents, in their order. Those that make no sense are left out and logged. */
export function applyEvents(dialogue: Dialogue, events: readonly EventDraft[]): void {
  const { tracker, options } = dialogue;
  for (const event of events) {
    if (OURS.has(event.event)) {
      options.logger.warn({ event: event.event }, 'action.event.ignored');
      continue;
    }
    if (event.event !== 'slot') {
      tracker.apply(event);
      continue;
    }
    const checked = checkedSlot(dialogue, event);
    if (checked !== undefined) tracker.apply(checked);
  }
}

function checkedSlot(dialogue: Dialogue, event: EventDraft): EventDraft | undefined {
  const name = event['name'];
  const slot = typeof name === 'string' ? dialogue.domain.slots.get(name) : undefined;
  if (slot === undefined) {
    dialogue.options.logger.warn({ slot: name }, 'action.slot.unknown');
    return undefined;
  }
  const coerced = coerceSlotValue(slot, event['value'] ?? null);
  if (!coerced.ok) {
    dialogue.options.logger.warn({ slot: name }, 'action.slot.invalid');
    return undefined;
  }
  return { ...event, value: coerced.value };
}
