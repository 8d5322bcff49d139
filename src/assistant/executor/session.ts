import type { Domain } from '../model.ts';
import type { TrackerState } from '../tracker/state.ts';
import type { Dialogue } from './dialogue.ts';
import { runBetweenSteps } from './run.ts';

/** Starts the first session of a conversation, or another one after the session expired. */
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

/** Whether the session expired. */
function isExpired({ tracker, domain, options }: Dialogue): boolean {
  return options.clock.now() > expiryOf(tracker.state, domain);
}

/** When the session expires, in milliseconds since 1970. */
export function expiryOf({ activeAt }: Pick<TrackerState, 'activeAt'>, domain: Domain): number {
  const minutes = domain.session.sessionExpirationTime;
  return minutes > 0 ? (activeAt + minutes * 60) * 1000 : Infinity;
}
