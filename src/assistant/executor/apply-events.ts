import type { JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import { coerceSlotValue } from '../domain/coerce.ts';
import { isUndo } from '../tracker/applied.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { Dialogue } from './dialogue.ts';
import { StepFailure } from './failure.ts';
import { formerEvents, applyUndo } from './undo.ts';

/** Events that only the engine may emit: about the stack, turns and sessions. */
const OURS: ReadonlySet<string> = new Set(['stack', 'user', 'action', 'session_started']);

/** Not allowed for agents: they run within a step, which they can't undo. */
export const NOT_OF_AGENTS: ReadonlySet<string> = new Set([...OURS, 'rewind', 'undo']);

/** Each makes the conversation anew from its log. */
const MAX_TAKEN_BACK = 100;

/** Maximum size of a slot: slots are loaded and saved with every turn. */
export const MAX_SLOT_CHARACTERS = 64 * 1024;

/**
 * Applies events of actions and agents in order; invalid ones are logged and ignored. Returns the
 * slots that were set and not undone, for the domain to check.
 */
export async function applyEvents(
  dialogue: Dialogue,
  events: readonly EventDraft[],
  { except = OURS }: { readonly except?: ReadonlySet<string> } = {},
): Promise<readonly string[]> {
  const { tracker, options } = dialogue;
  let filled: string[] = [];
  let former: readonly TrackerEvent[] | undefined;
  let takenBack = 0;
  for (const event of events) {
    if (except.has(event.event)) {
      options.logger.warn({ event: event.event }, 'action.event.ignored');
      continue;
    }
    if (isUndo(event)) {
      takenBack += 1;
      if (takenBack > MAX_TAKEN_BACK) {
        options.logger.warn({ event: event.event }, 'action.event.ignored');
        continue;
      }
      former ??= await formerEvents(dialogue);
      applyUndo(dialogue, event, former);
      filled = [];
      continue;
    }
    if (event.event !== 'slot') {
      tracker.apply(event);
      continue;
    }
    const checked = checkedSlot(dialogue, event);
    if (checked === undefined) continue;
    tracker.apply(checked.event);
    filled.push(checked.name);
  }
  return filled;
}

function checkedSlot(
  dialogue: Dialogue,
  event: EventDraft,
): { readonly name: string; readonly event: EventDraft } | undefined {
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
  if (sizeOf(coerced.value) > MAX_SLOT_CHARACTERS) {
    const message = `a value for slot ${slot.name} is larger than ${MAX_SLOT_CHARACTERS} characters`;
    throw new StepFailure('slot_too_large', message, { slot: slot.name });
  }
  return { name: slot.name, event: { ...event, value: coerced.value } };
}

function sizeOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}
