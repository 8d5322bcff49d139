import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/index.ts';
import type { BotMessage, TrackerEvent } from './conversation.ts';
import type { Dialogue } from './executor/dialogue.ts';
import { flowSlots } from './flows/flow-slots.ts';
import { activeSegment, callChain, isInner, segmentsOf } from './stack/stack.ts';
import { appliedEvents } from './tracker/events.ts';

/**
 * The result of a turn.
 * @example
 * let tracker: TurnResult['tracker'] | undefined;
 * for (const text of ['I want to send money', '50 euros', 'to Bob']) {
 *   ({ tracker } = await assistant.handle({ senderId: 'ada', tracker, text }));
 * }
 */
export interface TurnResult {
  readonly messages: readonly BotMessage[];
  /** The conversation after the turn: save it, and pass it with the next message. */
  readonly tracker: JsonObject;
  /** The events of this turn: append them to the conversation's log. */
  readonly events: readonly TrackerEvent[];
  readonly outcome: TurnOutcome;
}

/**
 * Facts about how the turn ended, from which a channel derives a task state.
 * @example
 * const isDone = ({ completedFlows, userFlows }: TurnOutcome) =>
 *   completedFlows.length > 0 && userFlows.length === 0;
 */
export interface TurnOutcome {
  /** Whether the user can send a message. False if the session has ended, and during a human handoff. */
  readonly waiting: boolean;
  /** The session has ended; every further message is rejected. */
  readonly ended: boolean;
  /** The user flow nearest to the top, including called flows. */
  readonly activeFlow: string | undefined;
  /** User flows on the stack, lowest first. */
  readonly userFlows: readonly string[];
  /** Conversation patterns on the stack, lowest first, such as `pattern_completed`. */
  readonly patterns: readonly string[];
  /** Patterns that were pushed in this turn, including those that have ended. */
  readonly raised: readonly { readonly flowId: string; readonly context: JsonObject }[];
  /** User flows that completed in this turn. */
  readonly completedFlows: readonly string[];
  /** User flows that were cancelled in this turn, by the user or by a failure. */
  readonly cancelledFlows: readonly { readonly flowId: string; readonly stepId: string }[];
  /** Why the request was rejected: `reason` of `pattern_cannot_handle`. */
  readonly cannotHandle: string | undefined;
  readonly error: { readonly type: string; readonly info: JsonObject } | undefined;
  /** The sub agent that waits for the user. */
  readonly waitingAgent: string | undefined;
  /** Slots of the project that have a value. */
  readonly slots: JsonObject;
  /** Slots that the completed flows persist. */
  readonly persistedSlots: JsonObject;
}

export function outcomeOf(dialogue: Dialogue): TurnOutcome {
  const { tracker, facts } = dialogue;
  const { stack, state } = tracker;
  const completedFlows = flowsOf(dialogue, 'flow_completed').map(({ flowId }) => flowId);
  const innermost = activeSegment(stack);
  const raised = (flowId: string) => facts.patterns.findLast((one) => one.flowId === flowId);
  const error = raised('pattern_internal_error')?.context;
  const reason = raised('pattern_cannot_handle')?.context['reason'];
  const agent = stack.findLast((frame) => frame.type === 'agent');
  return {
    waiting: !state.terminated && !state.paused,
    ended: state.terminated,
    activeFlow: innermost === undefined ? undefined : callChain(innermost).at(-1)?.flowId,
    userFlows: segmentsOf(stack).map((segment) => segment.root.flowId),
    patterns: stack.flatMap((frame) =>
      frame.type === 'pattern' && !isInner(frame) ? [frame.flowId] : [],
    ),
    raised: facts.patterns,
    completedFlows,
    cancelledFlows: flowsOf(dialogue, 'flow_cancelled'),
    cannotHandle: typeof reason === 'string' ? reason : unanswered(dialogue),
    error: error === undefined ? undefined : errorOf(error),
    waitingAgent: agent?.state === 'waiting_for_input' ? agent.agentId : undefined,
    slots: filledSlots(dialogue),
    persistedSlots: persistedSlots(dialogue, completedFlows),
  };
}

/** Responses by which a pattern rejects a request, with the reason. */
const refusals: readonly (readonly [pattern: string, response: string, reason: string])[] = [
  ['pattern_search', 'utter_no_knowledge_base', 'cannot_handle_no_relevant_answer'],
  ['pattern_chitchat', 'utter_cannot_handle', 'cannot_handle_chitchat'],
];

/** Why the search or chitchat pattern of this turn gave no answer. */
function unanswered({ tracker, facts }: Dialogue): string | undefined {
  const found = refusals.find(
    ([pattern, response]) =>
      facts.patterns.some(({ flowId }) => flowId === pattern) &&
      appliedEvents(tracker.events).some(
        ({ event, name }) => event === 'action' && name === response,
      ),
  );
  return found?.[2];
}

function flowsOf(dialogue: Dialogue, event: string): { flowId: string; stepId: string }[] {
  return appliedEvents(dialogue.tracker.events).flatMap((one) => {
    const { flow_id: flowId, step_id: stepId } = one;
    if (one.event !== event || typeof flowId !== 'string') return [];
    if (dialogue.flows.get(flowId)?.isPattern === true) return [];
    return [{ flowId, stepId: typeof stepId === 'string' ? stepId : '' }];
  });
}

function errorOf(context: JsonObject): TurnOutcome['error'] {
  const { error_type: type, info } = context;
  return {
    type: typeof type === 'string' ? type : 'internal',
    info: isJsonObject(info) ? info : {},
  };
}

function filledSlots({ domain, tracker }: Dialogue): JsonObject {
  const slots: Record<string, JsonValue> = {};
  for (const slot of domain.slots.values()) {
    const value = tracker.slot(slot.name);
    if (!slot.builtin && value !== null) slots[slot.name] = value;
  }
  return slots;
}

function persistedSlots({ flows, tracker }: Dialogue, completed: readonly string[]): JsonObject {
  const names = completed.flatMap((id) => [...flowSlots(id, flows).persisted]);
  return Object.fromEntries(names.map((name) => [name, tracker.slot(name)]));
}
