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

/** Whether the user was silent for longer than a session lasts. */
function isExpired(dialogue: Dialogue): boolean {
  const minutes = dialogue.domain.session.sessionExpirationTime;
  const seconds = dialogue.options.clock.now() / 1000 - dialogue.tracker.state.latestEventTime;
  return minutes > 0 && seconds > minutes * 60;
}
