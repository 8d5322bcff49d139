import type { JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import { coerceSlotValue } from '../domain/coerce.ts';
import { takesBack } from '../tracker/applied.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { Dialogue } from './dialogue.ts';
import { StepFailure } from './failure.ts';
import { formerEvents, takeBack } from './take-back.ts';

/** What actions and agents may not do: the stack, the turns and the sessions are ours. */
const OURS: ReadonlySet<string> = new Set(['stack', 'user', 'action', 'session_started']);

/** Agents answer within a step that goes on after them: they cannot take it back. */
export const NOT_OF_AGENTS: ReadonlySet<string> = new Set([...OURS, 'rewind', 'undo']);

/** Each makes the conversation anew from its log. */
const MAX_TAKEN_BACK = 100;

/** Slots travel with every turn of the conversation: they hold facts, not files. */
export const MAX_SLOT_CHARACTERS = 64 * 1024;

/**
 * Events of actions and agents, in their order. Those that make no sense are left out and logged.
 * Answers with the slots that were set and not taken back, for the domain to check.
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
    if (takesBack(event)) {
      takenBack += 1;
      if (takenBack > MAX_TAKEN_BACK) {
        options.logger.warn({ event: event.event }, 'action.event.ignored');
        continue;
      }
      former ??= await formerEvents(dialogue);
      takeBack(dialogue, event, former);
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
