import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import { traced } from '../../telemetry/index.ts';
import {
  type ActionMessage,
  ActionRejected,
  type ActionRunner,
  type StreamPiece,
} from '../actions/runner.ts';
import type { StackFrame } from '../conversation.ts';
import {
  isStarted,
  removeFrames,
  type Segment,
  segmentOfFlow,
  segmentsOf,
} from '../stack/stack.ts';
import {
  actionExecuted,
  actionRejected,
  restarted,
  sessionEnded,
  sessionStarted,
  slotSet,
} from '../tracker/events.ts';
import { applyEvents, applyUndo, formerEvents } from './apply-events.ts';
import { checkSlots, correctSlots, runSlotRejections } from './collect.ts';
import { contextOf, type Dialogue, readableName, StepFailure } from './dialogue.ts';
import { actionResult, OutcomeUnknown } from './turn-journal.ts';
import { afterFlow, cancelSegment, listOf, resumeSegment } from './user-flows.ts';

const SESSION_START = 'action_session_start';

/**
 * Runs an action by its name: a response of the domain, an action of the project, or a default
 * action. An action of the project replaces a default action of the same name.
 */
export async function runAction(
  dialogue: Dialogue,
  name: string,
  frame: StackFrame | undefined,
): Promise<void> {
  const context = frame === undefined ? {} : contextOf(frame);
  if (dialogue.options.responder.has(name)) {
    dialogue.tracker.apply(actionExecuted(name));
    return dialogue.respond(name, context);
  }
  if (dialogue.domain.actions.has(name)) {
    // The session starts once, even if the project replaces `action_session_start`.
    if (name === SESSION_START) {
      if (dialogue.facts.sessionStarted) return;
      sessionStart(dialogue, frame);
    }
    return runCustom(dialogue, name, context);
  }
  const ours = defaultActions.get(name);
  if (ours !== undefined) {
    dialogue.tracker.apply(actionExecuted(name));
    return ours(dialogue, frame);
  }
  // Patterns name optional actions of the project, such as `validate_<slot>`.
  if (frame?.type === 'pattern') return;
  if (name.startsWith('utter_')) {
    dialogue.options.logger.error({ response: name }, 'response.missing');
    dialogue.tracker.apply(actionExecuted(name));
    return;
  }
  // The loader of the project has reported the form.
  if (dialogue.domain.forms?.has(name) === true) return;
  throw new StepFailure('unknown_action', `no action ${name} in the domain`, { action: name });
}

const actionCalls = traced({
  span: 'legate.action',
  subject: 'legate.action',
  label: 'action',
  calls: 'legate.action.calls',
  duration: 'legate.action.duration',
});

async function runCustom(dialogue: Dialogue, name: string, context: JsonObject): Promise<void> {
  const { options, tracker } = dialogue;
  let result;
  try {
    const call = {
      name,
      ...dialogue.context,
      context,
      stream: async (piece: StreamPiece) => options.onChunk(piece),
      newId: options.newId,
    };
    const { signal } = options;
    result = await dialogue.journal.once({
      name: `action ${name}`,
      schema: actionResult,
      isRepeatable: () => isRepeatable(name, options.actions),
      run: () => actionCalls(name, () => options.actions.run(call), { signal }),
    });
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof OutcomeUnknown) throw await outcomeUnknown(dialogue, name);
    if (error instanceof ActionRejected) tracker.apply(actionRejected(name));
    throw new StepFailure(
      'action_failed',
      `action ${name} failed`,
      { action: name },
      { cause: error },
    );
  }
  tracker.apply(actionExecuted(name));
  for (const message of result.messages) await sayMessage(dialogue, message, context);
  checkSlots(dialogue, await applyEvents(dialogue, result.events, { by: name }));
}

/** Names of actions that, by convention, have no effect outside of the conversation. */
const withoutEffects = /^(?:validate_|action_ask_|action_validate_slot_mappings$)/;

function isRepeatable(name: string, actions: ActionRunner): boolean {
  return withoutEffects.test(name) || actions.isIdempotent?.(name) === true;
}

const OUTCOME_UNKNOWN = 'utter_outcome_unknown';

/** Informs the user and fails the step: an action that may have taken effect is not repeated. */
async function outcomeUnknown(dialogue: Dialogue, action: string): Promise<StepFailure> {
  dialogue.options.logger.warn({ action }, 'assistant.outcome_unknown');
  await dialogue.respond(OUTCOME_UNKNOWN, { action });
  const reason = `action ${action} was interrupted; whether it took effect is unknown`;
  return new StepFailure('outcome_unknown', reason, { action }, { context: { is_told: true } });
}

/** Sends a message of an action. The responder renders a named response; other fields override it. */
async function sayMessage(
  dialogue: Dialogue,
  message: ActionMessage,
  context: JsonObject,
): Promise<void> {
  const { response, values, ...own } = message;
  if (response === undefined) return dialogue.say(own);
  const written = await dialogue.write(response, context, values);
  await dialogue.say({ ...written, ...own, metadata: { ...written.metadata, ...own.metadata } });
}

/** Changes the stack below the frame that runs the action: added frames run after it. */
async function beneath(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
  work: () => void | Promise<void>,
): Promise<void> {
  const { tracker } = dialogue;
  if (frame === undefined) return work();
  tracker.setStack(removeFrames(tracker.stack, [frame]));
  await work();
  dialogue.push(frame);
}

/** Cancels the flow of `context.canceled_frames`. Patterns that follow its end run after the current one. */
function cancelFlow(dialogue: Dialogue, frame: StackFrame | undefined): Promise<void> {
  const ids = frame === undefined ? [] : textsOf(contextOf(frame)['canceled_frames']);
  return beneath(dialogue, frame, async () => {
    const segment = segmentsOf(dialogue.tracker.stack).find((one) =>
      ids.includes(one.root.frameId),
    );
    if (segment === undefined) return;
    await cancelSegment(dialogue, segment);
    afterFlow(dialogue, segment.root, { mayComplete: true });
  });
}

/** Cancels the interrupted flows: the user doesn't want to continue them. */
function cancelInterruptedFlows(dialogue: Dialogue, frame: StackFrame | undefined): Promise<void> {
  const ids = frame === undefined ? [] : textsOf(contextOf(frame)['interrupted_flow_ids']);
  return beneath(dialogue, frame, async () => {
    for (const id of ids) {
      const segment = segmentOfFlow(dialogue.tracker.stack, id);
      if (segment === undefined || !isStarted(segment)) continue;
      await cancelSegment(dialogue, segment);
      afterFlow(dialogue, { ...segment.root, frameType: 'regular' }, { mayComplete: true });
    }
  });
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item: JsonValue): item is string => typeof item === 'string');
}

const DEFAULT_OPTIONS = 3;

/** Writes the options of a clarification into the pattern's context, without duplicates and limited. */
function clarifyFlows(dialogue: Dialogue, frame: StackFrame | undefined): void {
  if (frame?.type !== 'pattern') return;
  const limit = dialogue.tracker.slot('max_clarification_options');
  const most = typeof limit === 'number' && limit >= 1 ? Math.floor(limit) : DEFAULT_OPTIONS;
  const given = contextOf(frame)['names'];
  const all: readonly JsonValue[] = Array.isArray(given) ? given : [];
  const names = [...new Set(all.filter((name) => typeof name === 'string'))].slice(0, most);
  const context = { ...frame.context, names, clarification_options: listOf(names) };
  dialogue.replace({ ...frame, context });
}

const CHOICE = 'interrupted_flow_to_continue';

/**
 * Continues with the flow that the user chose, or without a choice with the flow that was interrupted
 * last. A choice that matches no interrupted flow is cleared, so that the pattern asks again.
 */
function continueInterruptedFlow(dialogue: Dialogue, frame: StackFrame | undefined): Promise<void> {
  const { tracker } = dialogue;
  const interrupted = segmentsOf(tracker.stack).filter(isStarted);
  const choice = tracker.slot(CHOICE);
  const chosen =
    typeof choice === 'string'
      ? interrupted.find((segment) => isNamed(dialogue, segment, choice))
      : interrupted.at(-1);
  return beneath(dialogue, frame, () => {
    if (chosen !== undefined) resumeSegment(dialogue, chosen);
    else if (choice !== null) tracker.apply(slotSet(CHOICE, null));
  });
}

function isNamed(dialogue: Dialogue, { root }: Segment, choice: string): boolean {
  const wanted = choice.trim().toLowerCase();
  const names = [root.flowId, readableName(dialogue, root.flowId)];
  return names.some((name) => name.toLowerCase() === wanted);
}

/** Applies the corrections of `context.corrected_slots`. */
function correctFlowSlot(dialogue: Dialogue, frame: StackFrame | undefined): Promise<void> {
  const slots = frame === undefined ? {} : contextOf(frame)['corrected_slots'];
  const corrected = isJsonObject(slots) ? slots : {};
  return beneath(dialogue, frame, () => {
    correctSlots(dialogue, corrected);
    checkSlots(dialogue, Object.keys(corrected));
  });
}

/** Starts a session with an empty stack, and with initial or carried-over slot values. */
function startSession(dialogue: Dialogue, options: { readonly carryOver: boolean }): void {
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

/** Starts a new session; the pattern that runs the action continues in it. */
export function sessionStart(dialogue: Dialogue, frame: StackFrame | undefined): void {
  if (dialogue.facts.sessionStarted) return;
  startSession(dialogue, { carryOver: dialogue.domain.session.carryOverSlotsToNewSession });
  if (frame !== undefined) dialogue.push(frame);
}

/** Starts a new session without carried-over slots. */
function restart(dialogue: Dialogue, frame: StackFrame | undefined): void {
  dialogue.tracker.apply(restarted);
  startSession(dialogue, { carryOver: false });
  if (frame !== undefined) dialogue.push(frame);
}

/** Removes all frames except the pattern that runs the action. */
function cleanStack(dialogue: Dialogue, frame: StackFrame | undefined): void {
  dialogue.tracker.setStack(frame === undefined ? [] : [frame]);
}

function hangUp(dialogue: Dialogue): void {
  dialogue.tracker.apply(sessionEnded('hangup'));
}

/** The response if there is nothing to repeat: a first message such as "what?" asks for help. */
const HELP = 'utter_small_talk_capabilities';

/** Repeats the last bot messages. */
async function repeatBotMessages(dialogue: Dialogue): Promise<void> {
  const { spoken } = dialogue.tracker.state;
  if (spoken.length === 0) return dialogue.respond(HELP, {});
  for (const message of spoken) await dialogue.say(message);
}

/** The slot by which a project with NLU-based and CALM assistants routes sessions. */
export const ROUTED = 'route_session_to_calm';

/** Clears the routing slot, so that the next message is routed again. */
function resetRouting({ tracker }: Dialogue): void {
  if (tracker.slot(ROUTED) !== null) tracker.apply(slotSet(ROUTED, null));
}

/** Undoes the current user message and the one before, then listens. */
async function goBack(dialogue: Dialogue): Promise<void> {
  const former = await formerEvents(dialogue);
  for (let messages = 0; messages < 2; messages += 1) {
    applyUndo(dialogue, { event: 'rewind' }, former);
  }
}

/** An action of the engine. `frame` is the frame whose step runs it. */
type DefaultAction = (dialogue: Dialogue, frame: StackFrame | undefined) => void | Promise<void>;

/** A no-op for actions that projects may name: the engine does their work itself. */
function nothing(): void {}

function cannotHandle(reason: string): DefaultAction {
  return (dialogue) => {
    dialogue.pushPattern('pattern_cannot_handle', { reason });
  };
}

/** Answers the user's message from documents. Without an answer, starts `pattern_cannot_handle`. */
async function searchDocuments(dialogue: Dialogue): Promise<void> {
  const { options, tracker } = dialogue;
  const { knowledge, userMessage: question, signal, logger, clock } = options;
  if (knowledge === undefined) {
    tracker.apply(actionExecuted(NO_KNOWLEDGE));
    return dialogue.respond(NO_KNOWLEDGE, {});
  }
  const answer = await knowledge.answer({
    question,
    transcript: tracker.state.transcript,
    slots: tracker.slots,
    signal,
    logger,
    noting: { onPrompt: (note) => dialogue.notePrompt(note), clock },
  });
  if (answer === undefined) {
    dialogue.pushPattern('pattern_cannot_handle', { reason: 'cannot_handle_no_relevant_answer' });
    return;
  }
  const { text, sources } = answer;
  await dialogue.say({ text, metadata: { utter_source: SEARCH, sources: [...sources] } });
}

const NO_KNOWLEDGE = 'utter_no_knowledge_base';
const SEARCH = 'EnterpriseSearchPolicy';

/** Built-in actions; a custom action of the same name replaces one. */
export const defaultActions: ReadonlyMap<string, DefaultAction> = new Map<string, DefaultAction>([
  ['action_run_slot_rejections', runSlotRejections],
  ['action_cancel_flow', cancelFlow],
  ['action_cancel_interrupted_flows', cancelInterruptedFlows],
  ['action_continue_interrupted_flow', continueInterruptedFlow],
  ['action_correct_flow_slot', correctFlowSlot],
  ['action_clarify_flows', clarifyFlows],
  ['action_repeat_bot_messages', repeatBotMessages],
  ['action_session_start', sessionStart],
  ['action_restart', restart],
  ['action_clean_stack', cleanStack],
  ['action_hangup', hangUp],
  ['action_default_fallback', cannotHandle('cannot_handle_default')],
  ['action_trigger_search', searchDocuments],
  ['action_trigger_chitchat', cannotHandle('cannot_handle_chitchat')],
  ['action_handoff_metric', nothing],
  ['action_deactivate_loop', nothing],
  ['action_revert_fallback_events', nothing],
  ['action_back', goBack],
  ['action_extract_slots', nothing],
  ['action_reset_routing', resetRouting],
]);

/** The actions that end a turn: the second one while an agent waits for the user. */
export const LISTEN = 'action_listen';
export const LISTEN_FOR_AGENT = 'action_agent_request_user_input';

/** Actions that projects can use without declaring them. */
export const defaultActionNames: ReadonlySet<string> = new Set([
  LISTEN,
  LISTEN_FOR_AGENT,
  ...defaultActions.keys(),
]);
