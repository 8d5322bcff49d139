import type { StackFrame } from '../../conversation.ts';
import { restarted, sessionEnded } from '../../tracker/index.ts';
import type { Dialogue } from '../dialogue.ts';
import { startSession } from '../session.ts';

/** A new session; the pattern that asked for it goes on in it. */
export function sessionStart(dialogue: Dialogue, frame: StackFrame | undefined): void {
  if (dialogue.facts.sessionStarted) return;
  startSession(dialogue, { carryOver: dialogue.domain.session.carryOverSlotsToNewSession });
  if (frame !== undefined) dialogue.push(frame);
}

/** A new session that remembers nothing. */
export function restart(dialogue: Dialogue, frame: StackFrame | undefined): void {
  dialogue.tracker.apply(restarted);
  startSession(dialogue, { carryOver: false });
  if (frame !== undefined) dialogue.push(frame);
}

/** Leaves nothing of the flows; the pattern that runs it ends by itself. */
export function cleanStack(dialogue: Dialogue, frame: StackFrame | undefined): void {
  dialogue.tracker.setStack(frame === undefined ? [] : [frame]);
}

export function hangUp(dialogue: Dialogue): void {
  dialogue.tracker.apply(sessionEnded('hangup'));
}
