import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { CollectedStep, FlowFrame, PatternFrame, StackFrame } from '../conversation.ts';
import { coerceSlotValue } from '../domain/slot.ts';
import { type CollectStep, type Slot, START } from '../model.ts';
import { INTERNAL_ERROR_RESPONSE } from '../responses/responder.ts';
import {
  activeSegment,
  agentOf,
  callChain,
  COLLECT_INFORMATION,
  isPattern,
  isSamePath,
  replaceSegment,
  type Segment,
  segmentsOf,
  VALIDATE_SLOT,
} from '../stack/stack.ts';
import { slotSet } from '../tracker/events.ts';
import { contextOf, type Dialogue, StepFailure } from './dialogue.ts';

/**
 * Enters a collect step: pushes the pattern that asks for the slot. The pattern first validates a
 * value that the slot already has.
 */
export function enterCollect(
  dialogue: Dialogue,
  frame: FlowFrame | PatternFrame,
  step: CollectStep,
): undefined {
  const { tracker, domain } = dialogue;
  if (!domain.slots.has(step.slot)) {
    throw new StepFailure('unknown_slot', `no slot ${step.slot} in the domain`, {
      slot: step.slot,
    });
  }
  if (frame.type === 'flow') rememberCollected(dialogue, step);
  if (step.askBeforeFilling && tracker.slot(step.slot) !== null) {
    tracker.apply(slotSet(step.slot, null));
  }
  const question = questionFrame(dialogue, step, frame);
  const hasAction = question.context['collect_action'] !== null;
  const canAsk =
    hasAction || dialogue.options.responder.has(step.utter) || domain.actions.has(step.utter);
  if (!canAsk && tracker.slot(step.slot) === null) {
    throw new StepFailure(
      'no_question',
      `slot ${step.slot} has neither response ${step.utter} nor action action_ask_${step.slot}`,
      { slot: step.slot },
    );
  }
  dialogue.push(question);
}

/** The frame of the pattern that asks for a slot. A question of a pattern also gets the pattern's context. */
export function questionFrame(
  dialogue: Dialogue,
  step: CollectStep,
  owner: FlowFrame | PatternFrame,
): PatternFrame {
  const askAction = `action_ask_${step.slot}`;
  return {
    type: 'pattern',
    frameId: dialogue.tracker.newFrameId(),
    flowId: COLLECT_INFORMATION,
    stepId: START,
    context: {
      ...(owner.type === 'pattern' && owner.context),
      collect: step.slot,
      utter: step.utter,
      collect_action: dialogue.domain.actions.has(askAction) ? askAction : null,
      rejections: step.rejections.map((one) => ({ if: one.if, utter: one.utter })),
    },
  };
}

/** Records the question in the first frame of the call chain, and drops the questions recorded after it. */
function rememberCollected(dialogue: Dialogue, step: CollectStep): void {
  const segment = activeSegment(dialogue.tracker.stack);
  if (segment === undefined) return;
  const path = callChain(segment).map((frame) => frame.stepId);
  const before = segment.root.collected ?? [];
  const known = before.findIndex((other) => isSamePath(other.path, path));
  const kept = known === -1 ? before : before.slice(0, known);
  const collected: readonly CollectedStep[] = [...kept, { slot: step.slot, path }];
  dialogue.replace({ ...segment.root, collected });
}

/**
 * Changes slot values and moves every flow that asked for one of them back to the earliest of these
 * questions, so that all branches after it are evaluated again. Later answers are kept. Questions
 * with `ask_before_filling` are asked again.
 */
export function correctSlots(dialogue: Dialogue, slots: Readonly<Record<string, JsonValue>>): void {
  const { tracker } = dialogue;
  for (const [name, value] of Object.entries(slots)) {
    tracker.apply(slotSet(name, isAskedAgain(dialogue, name) ? null : value));
  }
  for (const { root } of segmentsOf(tracker.stack)) {
    // The loop changes the stack: look the segment up again.
    const segment = segmentsOf(tracker.stack).find((one) => one.root.frameId === root.frameId);
    if (segment !== undefined) goBack(dialogue, segment, slots);
  }
}

function goBack(
  dialogue: Dialogue,
  segment: Segment,
  slots: Readonly<Record<string, JsonValue>>,
): void {
  const agent = agentOf(segment);
  if (agent !== undefined) {
    // An agent gets all slots with each call, so it continues with the new values.
    if (agent.state === 'waiting_for_input') dialogue.replace({ ...agent, state: 'resuming' });
    return;
  }
  const target = segment.root.collected?.find(({ slot }) => Object.hasOwn(slots, slot));
  if (target === undefined) return;
  const frames = framesFor(dialogue, segment, target);
  if (frames === undefined) return;
  dialogue.tracker.setStack(replaceSegment(dialogue.tracker.stack, segment, frames));
}

function framesFor(
  dialogue: Dialogue,
  { root }: Segment,
  target: CollectedStep,
): readonly StackFrame[] | undefined {
  const collected = (root.collected ?? []).slice(0, (root.collected ?? []).indexOf(target) + 1);
  const frames = dialogue.framesAt({ ...root, collected }, target.path);
  const last = frames?.at(-1);
  const step = last === undefined ? undefined : dialogue.stepOf(last);
  if (frames === undefined || last === undefined || step?.kind !== 'collect') return undefined;
  return [...frames, questionFrame(dialogue, step, last)];
}

/** Whether a flow on the stack has passed a question for the slot that it always asks again. */
export function isAskedAgain(dialogue: Dialogue, slot: string): boolean {
  return segmentsOf(dialogue.tracker.stack).some(({ root }) => {
    const passed = root.collected?.find((one) => one.slot === slot);
    const frame = passed && dialogue.framesAt(root, passed.path)?.at(-1);
    const step = frame && dialogue.stepOf(frame);
    return step?.kind === 'collect' && step.askBeforeFilling;
  });
}

/**
 * Returns whether a value doesn't fit the slot. An invalid answer is never recorded: the slot is
 * cleared, and the pattern that asks for it explains why.
 */
export function rejectInvalid(dialogue: Dialogue, name: string, value: JsonValue): boolean {
  const slot = dialogue.domain.slots.get(name);
  if (slot === undefined || coerceSlotValue(slot, value).ok) return false;
  const { tracker } = dialogue;
  tracker.apply(slotSet(name, null));
  const isQuestion = (frame: StackFrame): frame is PatternFrame =>
    (isPattern(frame, COLLECT_INFORMATION) && frame.context['collect'] === name) ||
    (isPattern(frame, VALIDATE_SLOT) && frame.context['validate'] === name);
  const question = tracker.stack.findLast(isQuestion);
  if (question !== undefined) {
    dialogue.replace({
      ...question,
      context: { ...question.context, is_invalid: true, invalid_value: value },
    });
  }
  return true;
}

/** Types with a rejection message. Slots of other types keep the value that an action stored. */
const checkedTypes: ReadonlySet<string> = new Set(['bool', 'categorical', 'float']);

/**
 * Validates the slot that the pattern asks for or validates: first its type, then the conditions in
 * the pattern's context. Clears an invalid value and sends a message that explains why.
 */
export async function runSlotRejections(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
): Promise<void> {
  if (frame === undefined) return;
  const context = contextOf(frame);
  const name = context['collect'] ?? context['validate'];
  const slot = typeof name === 'string' ? dialogue.domain.slots.get(name) : undefined;
  if (slot === undefined) return;
  const { is_invalid: isInvalid = false, invalid_value: invalid = null, ...rest } = context;
  const value = isInvalid === true ? invalid : dialogue.tracker.slot(slot.name);
  if (isInvalid === true && frame.type === 'pattern') dialogue.replace({ ...frame, context: rest });
  if (value === null) return;
  const hasWrongType =
    !coerceSlotValue(slot, value).ok && (isInvalid === true || checkedTypes.has(slot.type));
  const rejection = hasWrongType ? typeRejection(slot) : rejectionOf(dialogue, slot, context);
  if (rejection === undefined) return;
  dialogue.tracker.apply(slotSet(slot.name, null));
  await dialogue.respond(rejection, context, { value });
}

/** The response of the first condition that rejects the value of a slot. */
function rejectionOf(dialogue: Dialogue, slot: Slot, context: JsonObject): string | undefined {
  for (const rejection of rejectionsOf(context['rejections'])) {
    try {
      const scope = { slots: dialogue.tracker.slots, context };
      if (compileCondition(rejection.if).evaluate(scope)) return rejection.utter;
    } catch (error) {
      const { logger } = dialogue.options;
      logger.error({ slot: slot.name, condition: rejection.if, error }, 'rejection.invalid');
      return INTERNAL_ERROR_RESPONSE;
    }
  }
  return undefined;
}

function typeRejection(slot: Slot): string {
  switch (slot.type) {
    case 'bool':
      return 'utter_boolean_slot_rejection';
    case 'categorical':
      return 'utter_categorical_slot_rejection';
    case 'float':
      return 'utter_float_slot_rejection';
    default:
      return INTERNAL_ERROR_RESPONSE;
  }
}

function rejectionsOf(value: JsonValue | undefined): readonly { if: string; utter: string }[] {
  return Array.isArray(value) ? (value as readonly { if: string; utter: string }[]) : [];
}

/**
 * Validates newly filled slots against the rejections of the domain, regardless of the extractor and
 * the active flow. Pushes a pattern for each invalid slot. The flow continues when the slot is valid.
 */
export function checkSlots(dialogue: Dialogue, names: readonly string[]): void {
  for (const name of names) {
    const context = validationOf(dialogue, name);
    if (context === undefined) continue;
    const { tracker } = dialogue;
    const isOlder = (frame: StackFrame) =>
      isPattern(frame, VALIDATE_SLOT) && frame.context['validate'] === name;
    tracker.setStack(tracker.stack.filter((frame) => !isOlder(frame)));
    dialogue.pushPattern(VALIDATE_SLOT, context);
  }
}

/** The context of the pattern that asks for the slot again; undefined when its value is valid. */
function validationOf(dialogue: Dialogue, name: string): JsonObject | undefined {
  const validation = dialogue.domain.slots.get(name)?.validation;
  if (validation === undefined || dialogue.tracker.slot(name) === null) return undefined;
  const { rejections, refillUtter } = validation;
  if (!rejections.some((one) => dialogue.holds(one.if))) return undefined;
  const askAction = `action_ask_${name}`;
  // `refill_utter` of the domain takes precedence over the action that asks the first time.
  const isUsual = refillUtter === `utter_ask_${name}`;
  return {
    validate: name,
    refill_utter: refillUtter,
    refill_action: isUsual && dialogue.domain.actions.has(askAction) ? askAction : null,
    rejections: rejections.map((one) => ({ if: one.if, utter: one.utter })),
  };
}
