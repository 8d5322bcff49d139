import type { StackFrame, TrackerEvent } from '../conversation.ts';
import { appliedEvents, startsSession } from '../tracker/applied.ts';
import { agentEvent, type EventDraft } from '../tracker/events.ts';
import { stackAfter } from '../tracker/json.ts';
import { waitingAgents } from './agents.ts';
import type { Dialogue } from './dialogue.ts';

/** Events loaded at first; four times as many each time until the session's start is among them. */
const FIRST_EVENTS = 500;

/**
 * The log before this turn, at least since the session started: earlier events can't be undone.
 * Undefined without a log.
 */
export async function formerEvents({
  options,
  tracker,
}: Dialogue): Promise<readonly TrackerEvent[] | undefined> {
  const { history } = options;
  if (history === undefined) return undefined;
  const isNew = tracker.events.some(startsSession);
  for (let last = FIRST_EVENTS; ; last *= 4) {
    const events = await history({ last });
    if (isNew || events.length < last || events.some(startsSession)) return events;
  }
}

/**
 * Applies a `rewind` or an `undo`. After a `rewind` the assistant waits for the user, as before the
 * undone message; calls of agents that started since are cancelled. Without a log the conversation
 * stays as it is.
 */
export function applyUndo(
  dialogue: Dialogue,
  draft: EventDraft,
  former: readonly TrackerEvent[] | undefined,
): void {
  const { tracker, facts, options } = dialogue;
  if (former === undefined) {
    options.logger.warn({ event: draft.event }, 'tracker.no_log');
    return;
  }
  // Log the current stack: an `undo` keeps it.
  tracker.logStack();
  if (draft.event !== 'rewind') return tracker.undo(draft, former);
  const present = appliedEvents([...former, ...tracker.events]);
  const remaining = appliedEvents([...present, draft]);
  const hasMessage = remaining.length < present.length;
  if (hasMessage) abandonAgents(dialogue, stackAfter(remaining));
  tracker.undo(draft, former);
  if (!hasMessage) return;
  // Readers of the log that ignore undo events find the current stack.
  tracker.setStack(tracker.stack);
  tracker.logStack();
  facts.patterns.length = 0;
  facts.filled.clear();
  facts.forAgent = false;
  facts.rewoundTo = tracker.stack;
}

/** Agents that the new stack doesn't have. */
function abandonAgents(dialogue: Dialogue, stack: readonly StackFrame[]): void {
  const { tracker, facts } = dialogue;
  const kept = new Set(stack.map(({ frameId }) => frameId));
  const lost = tracker.stack.filter(({ frameId }) => !kept.has(frameId));
  for (const frame of lost.toReversed()) {
    if (frame.type !== 'agent') continue;
    const { flowId, agentId } = frame;
    tracker.apply(agentEvent('cancelled', flowId, agentId, { reason: 'message taken back' }));
  }
  facts.abandoned.push(...waitingAgents(dialogue, lost));
}
