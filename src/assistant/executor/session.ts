import { sessionStarted, slotSet } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';

/** Begins a session: an empty stack, and slots as they are at first or as they were. */
export function startSession(dialogue: Dialogue, options: { readonly carryOver: boolean }): void {
  const { tracker, domain } = dialogue;
  const before = { ...tracker.slots };
  tracker.apply(sessionStarted(dialogue.options.newId()));
  dialogue.facts.sessionStarted = true;
  for (const slot of options.carryOver ? domain.slots.values() : []) {
    const value = before[slot.name] ?? null;
    if (value !== slot.initialValue) tracker.apply(slotSet(slot.name, value));
  }
  tracker.apply(slotSet('session_started_metadata', dialogue.options.metadata));
}
