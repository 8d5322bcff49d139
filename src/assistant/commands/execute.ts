import type { JsonObject } from '../../protocol/index.ts';
import type { Command } from '../conversation.ts';
import { restartAgent } from '../executor/agents.ts';
import { type Dialogue, readableName, startableFlows } from '../executor/dialogue.ts';
import { interruptAgent, resumeSegment, startFlows } from '../executor/user-flows.ts';
import { checkSlots, isAskedAgain, rejectInvalid } from '../executor/collect.ts';
import { flowSlots } from '../flows/flow-slots.ts';
import type { Flow } from '../model.ts';
import { smallTalkTopic } from '../small-talk/small-talk.ts';
import {
  activeSegment,
  isAskingToContinue,
  isPattern,
  type Segment,
  segmentsOf,
  withoutConversationPatterns,
} from '../stack/stack.ts';
import { sessionEnded, slotSet } from '../tracker/events.ts';

/**
 * Executes cleaned-up commands: fills slots and builds the stack. From bottom to top: active flows, started
 * flows (the first requested one on top), slots to validate, and patterns, with the pattern of the first
 * command on top.
 */
export function executeCommands(dialogue: Dialogue, commands: readonly Command[]): void {
  const cancelled = commands.some((one) => one.command === 'cancel flow')
    ? activeSegment(dialogue.tracker.stack)
    : undefined;
  // Cancelling a flow also answers whether to continue it.
  if (cancelled !== undefined && isAskingToContinue(dialogue.tracker.stack)) {
    dialogue.tracker.setStack(withoutConversationPatterns(dialogue.tracker.stack));
  }
  fillSlots(dialogue, commands);
  startFlows(
    dialogue,
    commands.flatMap((one) => (one.command === 'start flow' ? [one.flow] : [])),
    cancelled,
  );
  for (const one of commands)
    if (one.command === 'restart agent') restartAgent(dialogue, one.agent);
  if (commands.some((one) => one.command === 'continue agent')) dialogue.facts.forAgent = true;
  checkSlots(dialogue, [...dialogue.facts.filled]);
  for (const one of inOrderOfSpeech(commands).toReversed()) pushPattern(dialogue, one, cancelled);
}

function fillSlots(dialogue: Dialogue, commands: readonly Command[]): void {
  for (const one of commands) {
    if (one.command !== 'set slot') continue;
    if (rejectInvalid(dialogue, one.name, one.value)) continue;
    dialogue.tracker.apply(slotSet(one.name, one.value, one.by));
    dialogue.facts.filled.add(one.name);
  }
  resumeByAnswer(dialogue, commands);
}

/** The slots of the question whether to continue an interrupted flow. */
const continueSlots: readonly string[] = [
  'continue_interrupted_flow_confirmation',
  'interrupted_flow_to_continue',
];

/** Resumes an interrupted flow if the user, asked whether to continue it, answered its open question. */
function resumeByAnswer(dialogue: Dialogue, commands: readonly Command[]): void {
  if (!isAskingToContinue(dialogue.tracker.stack)) return;
  const { tracker, flows } = dialogue;
  // Slots of an orchestrator aren't an answer of the user, and a yes or no is already an answer.
  const answered = commands.flatMap((one) =>
    one.command === 'set slot' && one.by !== 'orchestrator' ? [one.name] : [],
  );
  if (answered.some((name) => continueSlots.includes(name))) return;
  const wanted = segmentsOf(tracker.stack).findLast((segment) => {
    const { collected } = flowSlots(segment.root.flowId, flows);
    return answered.some((name) => collected.has(name));
  });
  if (wanted === undefined) return;
  tracker.setStack(withoutConversationPatterns(tracker.stack));
  const segment = segmentsOf(tracker.stack).find((one) => one.root.frameId === wanted.root.frameId);
  if (segment !== undefined) resumeSegment(dialogue, segment);
}

/** Orders commands: cancellations first, then corrections, then all others. */
function inOrderOfSpeech(commands: readonly Command[]): readonly Command[] {
  const rank = ({ command }: Command) => ['cancel flow', 'correct slots'].indexOf(command);
  const ranked = commands.filter((one) => rank(one) !== -1);
  ranked.sort((one, other) => rank(one) - rank(other));
  return [...ranked, ...commands.filter((one) => rank(one) === -1)];
}

function pushPattern(dialogue: Dialogue, command: Command, cancelled: Segment | undefined): void {
  const { tracker } = dialogue;
  switch (command.command) {
    case 'cancel flow':
      return pushCancel(dialogue, cancelled);
    case 'correct slots':
      return pushCorrection(dialogue, command.slots);
    case 'clarify':
      return pushAside(dialogue, 'pattern_clarification', {
        names: command.options.map((id) => readableName(dialogue, id)),
        flow_ids: command.options,
        is_offer: command.isOffer === true,
        clarification_options: '',
      });
    case 'chitchat':
      return pushAside(dialogue, 'pattern_chitchat', smallTalk(dialogue, command.topic));
    case 'knowledge answer':
      return pushAside(dialogue, 'pattern_search');
    case 'cannot handle':
      return dialogue.pushPattern('pattern_cannot_handle', {
        ...command.info,
        reason: command.reason,
        ...(command.flow !== undefined && guardedContext(dialogue, command.flow)),
      });
    case 'error':
      // Only one error message for several errors.
      if (tracker.stack.some((frame) => isPattern(frame, 'pattern_internal_error'))) return;
      return dialogue.pushPattern('pattern_internal_error', {
        error_type: command.errorType,
        info: command.info,
      });
    case 'skip question':
      return dialogue.pushPattern('pattern_skip_question');
    case 'human handoff':
      return dialogue.pushPattern('pattern_human_handoff');
    case 'repeat bot messages':
      return dialogue.pushPattern('pattern_repeat_bot_messages');
    case 'code change':
      return dialogue.pushPattern('pattern_code_change');
    case 'session start':
      // A project's own action_session_start sends its own greeting.
      return dialogue.pushPattern('pattern_session_start', {
        greets: !dialogue.domain.actions.has('action_session_start'),
      });
    case 'restart':
      // A program that sends /restart expects no message; a user who asks for it does.
      return dialogue.pushPattern('pattern_restart', {
        is_asked: !dialogue.options.userMessage.trim().startsWith('/'),
      });
    case 'user silence':
      return dialogue.pushPattern('pattern_user_silence');
    case 'session end':
      tracker.apply(sessionEnded('user'));
      return;
    case 'start flow':
    case 'set slot':
    case 'continue agent':
    case 'restart agent':
      // `executeCommands` has executed them.
      return;
  }
}

/** Context about a flow whose guard doesn't hold, and the flow that unlocks it. */
function guardedContext(dialogue: Dialogue, flowId: string): JsonObject {
  const unlocking = unlockingFlow(dialogue, flowId);
  return {
    flow_name: readableName(dialogue, flowId),
    unlocked_by: unlocking === undefined ? null : readableName(dialogue, unlocking.id),
    flow_ids: unlocking === undefined ? [] : [unlocking.id],
  };
}

/**
 * A startable flow that can make the guard of another one hold: a flow that fills a slot of the guard,
 * otherwise a flow that only branches on it, such as a log-in.
 */
function unlockingFlow(dialogue: Dialogue, guarded: string): Flow | undefined {
  const guard = dialogue.flows.get(guarded)?.if ?? '';
  const names = Array.from(guard.matchAll(/\bslots\.(\w+)/g), ([, name = '']) => name);
  const others = startableFlows(dialogue).filter((flow) => flow.id !== guarded);
  const filling = others.find((flow) =>
    names.some((name) => flowSlots(flow.id, dialogue.flows).all.has(name)),
  );
  if (filling !== undefined) return filling;
  const questions = (flow: Flow): number =>
    flow.steps.values().reduce((count, step) => count + (step.kind === 'collect' ? 1 : 0), 0);
  const branching = others.filter((flow) =>
    flow.steps
      .values()
      .some(({ next }) =>
        next.branches.some(({ if: condition }) =>
          names.some((name) => condition?.includes(`slots.${name}`) === true),
        ),
      ),
  );
  // A flow with questions has another purpose: sending a parcel is not a way to log in.
  return branching.find((flow) => questions(flow) === 0);
}

/** Pushes a pattern for a digression; a waiting agent is interrupted. */
function pushAside(dialogue: Dialogue, flowId: string, context: JsonObject = {}): void {
  interruptAgent(dialogue);
  dialogue.pushPattern(flowId, context);
}

/** The topic of small talk and its response. Without a topic from the generator, finds it in the message. */
function smallTalk({ domain, options }: Dialogue, named: string | undefined): JsonObject {
  const topic = named ?? smallTalkTopic(options.userMessage, domain);
  if (topic === undefined) return {};
  const own = `utter_small_talk_${topic}`;
  return { topic, utter: domain.responses.has(own) ? own : 'utter_small_talk' };
}

function pushCancel(dialogue: Dialogue, cancelled: Segment | undefined): void {
  if (cancelled === undefined) return;
  dialogue.pushPattern('pattern_cancel_flow', {
    canceled_name: readableName(dialogue, cancelled.root.flowId),
    canceled_frames: cancelled.frames.map((frame) => frame.frameId),
  });
}

/**
 * Pushes the correction pattern. The correction only resets slots if all of them are asked for again
 * (`ask_before_filling`): the new values aren't used, so the pattern doesn't announce them.
 */
function pushCorrection(dialogue: Dialogue, slots: JsonObject): void {
  const names = Object.keys(slots);
  const segment = segmentsOf(dialogue.tracker.stack).findLast((one) =>
    one.root.collected?.some(({ slot }) => names.includes(slot)),
  );
  const step = segment?.root.collected?.find(({ slot }) => names.includes(slot));
  dialogue.pushPattern('pattern_correction', {
    is_reset_only: names.every((name) => isAskedAgain(dialogue, name)),
    has_new_values: Object.values(slots).some((value) => value !== null),
    corrected_slots: slots,
    new_slot_values: Object.values(slots),
    reset_flow_id: segment?.root.flowId ?? null,
    reset_step_id: step?.path.at(-1) ?? null,
  });
}
