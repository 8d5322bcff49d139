import { slotSet, sessionStarted } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';

/** Begins a session: an empty stack, and slots as they are at first or as they were. */
export function startSession(dialogue: Dialogue, options: { readonly carryOver: boolean }): void {
  const { tracker, domain } = dialogue;
  const before = { ...tracker.slots };
  tracker.apply(sessionStarted(dialogue.options.newId()));
  dialogue.facts.sessionStarted = true;
  if (!options.carryOver) return;
  for (const slot of domain.slots.values()) {
    const value = before[slot.name] ?? null;
    if (value !== slot.initialValue) tracker.apply(slotSet(slot.name, value));
  }
}
