import type { Domain } from '../model.ts';
import type { TrackerState } from '../tracker/state.ts';
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
