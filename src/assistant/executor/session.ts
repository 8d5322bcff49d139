import type { Domain } from '../model.ts';
import { sessionStarted, slotSet, type TrackerState } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';
import { runBetweenSteps } from './run.ts';

/** A conversation begins with a session; one that rested for too long goes on in another. */
export async function ensureSession(
  dialogue: Dialogue,
  { isNew }: { readonly isNew: boolean },
): Promise<void> {
  const { tracker, domain } = dialogue;
  const expired = !isNew && isExpired(dialogue);
  if (isNew || (expired && domain.session.startSessionAfterExpiry)) {
    await runBetweenSteps(dialogue, 'action_session_start');
  } else if (expired || tracker.state.inactive) {
    tracker.renewSession(dialogue.options.newId());
  }
}

/** Whether nobody said or did anything for longer than a session lasts. */
function isExpired({ tracker, domain, options }: Dialogue): boolean {
  return options.clock.now() > expiryOf(tracker.state, domain);
}

/** When a session ends in which nothing more happens, in milliseconds since 1970. */
export function expiryOf({ activeAt }: Pick<TrackerState, 'activeAt'>, domain: Domain): number {
  const minutes = domain.session.sessionExpirationTime;
  return minutes > 0 ? (activeAt + minutes * 60) * 1000 : Infinity;
}

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
