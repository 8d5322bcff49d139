import type { JsonValue } from '../../protocol/index.ts';
import type { StackFrame, TrackerEvent } from '../conversation.ts';
import { coerceSlotValue, storedSlotValue } from '../domain/slot.ts';
import {
  agentEvent,
  appliedEvents,
  type EventDraft,
  isUndo,
  startsSession,
} from '../tracker/events.ts';
import { stackAfter } from '../tracker/json.ts';
import { waitingAgents } from './agents.ts';
import { type Dialogue, StepFailure } from './dialogue.ts';

/** Events that only the engine may emit: about the stack, turns and sessions. */
const OURS: ReadonlySet<string> = new Set(['stack', 'user', 'action', 'session_started']);

/** Events that agents may not emit: an agent runs within a step and can't undo it. */
export const NOT_OF_AGENTS: ReadonlySet<string> = new Set([...OURS, 'rewind', 'undo']);

/** Maximum number of undo events of one action: each rebuilds the conversation from its log. */
const MAX_TAKEN_BACK = 100;

/** Characters of an invalid value that are logged. */
const MAX_SHOWN_CHARACTERS = 80;

/** Maximum size of a slot: slots are loaded and saved with every turn. */
export const MAX_SLOT_CHARACTERS = 64 * 1024;

interface EventSource {
  /** The action or agent, for log lines. */
  readonly by?: string;
  /** Whether values are coerced to slot types. Values of actions stay as they are. @default false */
  readonly isTyped?: boolean;
}

/**
 * Applies events of actions and agents in order. Invalid events are logged and ignored. Returns the
 * slots that were set and not undone; the caller validates them.
 */
export async function applyEvents(
  dialogue: Dialogue,
  events: readonly EventDraft[],
  { except = OURS, ...source }: EventSource & { readonly except?: ReadonlySet<string> } = {},
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
    const checked = checkedSlot(dialogue, event, source);
    if (checked === undefined) continue;
    tracker.apply(checked.event);
    filled.push(checked.name);
  }
  return filled;
}

function checkedSlot(
  dialogue: Dialogue,
  event: EventDraft,
  { by, isTyped = false }: EventSource,
): { readonly name: string; readonly event: EventDraft } | undefined {
  const name = event['name'];
  const { logger } = dialogue.options;
  const slot = typeof name === 'string' ? dialogue.domain.slots.get(name) : undefined;
  if (slot === undefined) {
    logger.warn(
      { action: by, slot: name, hint: 'add the slot to the domain' },
      'action.slot.unknown',
    );
    return undefined;
  }
  const value = event['value'] ?? null;
  const stored = isTyped ? coerceSlotValue(slot, value) : storedSlotValue(slot, value);
  const expected = slot.values === undefined ? slot.type : slot.values.map(String).join(' or ');
  const found = JSON.stringify(value).slice(0, MAX_SHOWN_CHARACTERS);
  const shown = { action: by, slot: name, expected, found };
  if (!stored.ok) {
    logger.warn({ ...shown, kept: dialogue.tracker.slot(slot.name) }, 'action.slot.invalid');
    return undefined;
  }
  if (!coerceSlotValue(slot, stored.value).ok) logger.warn(shown, 'action.slot.unexpected_type');
  if (sizeOf(stored.value) > MAX_SLOT_CHARACTERS) {
    const message = `a value for slot ${slot.name} is larger than ${MAX_SLOT_CHARACTERS} characters`;
    throw new StepFailure('slot_too_large', message, { slot: slot.name });
  }
  return { name: slot.name, event: { ...event, value: stored.value } };
}

function sizeOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}

/** Events in the first load. Each further load has four times as many, until it has the session's start. */
const FIRST_EVENTS = 500;

/**
 * Loads the log before this turn, at least since the session started: earlier events can't be undone.
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
 * undone message, and calls of agents that started since then are cancelled. Without a log, both have
 * no effect.
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
  // Log the stack again for readers that ignore undo events.
  tracker.setStack(tracker.stack);
  tracker.logStack();
  facts.patterns.length = 0;
  facts.filled.clear();
  facts.forAgent = false;
  facts.rewoundTo = tracker.stack;
}

/** Abandons the agents that the new stack doesn't have. */
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
