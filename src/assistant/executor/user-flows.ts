import type { FlowFrame, PatternFrame } from '../conversation.ts';
import { flowSlots } from '../flows/flow-slots.ts';
import {
  activeSegment,
  agentOf,
  callChain,
  frameTypeOver,
  isAskingToContinue,
  isInner,
  isPattern,
  isStarted,
  moveToTop,
  removeFrames,
  type Segment,
  segmentOfFlow,
  segmentsOf,
  VALIDATE_SLOT,
  withoutConversationPatterns,
} from '../stack/stack.ts';
import { agentEvent, flowEvent, slotSet } from '../tracker/events.ts';
import { cancelAgents, waitingAgents } from './agents.ts';
import { type Dialogue, readableName, StepFailure } from './dialogue.ts';

/** Ends the top frame, which has no further step. */
export function endFrame(dialogue: Dialogue, frame: FlowFrame | PatternFrame): void {
  dialogue.pop();
  if (frame.type === 'pattern') return endPattern(dialogue, frame);
  dialogue.tracker.apply(flowEvent('flow_completed', frame.flowId, frame.stepId));
  // A called flow shares its slots with its caller: keep them.
  if (frame.frameType === 'call') return;
  dialogue.facts.abandoned.push(...waitingAgents(dialogue, [frame]));
  resetSlots(dialogue, frame.flowId);
  afterFlow(dialogue, frame, { mayComplete: true });
}

function endPattern(dialogue: Dialogue, frame: PatternFrame): void {
  if (isInner(frame)) return;
  dialogue.tracker.apply(flowEvent('flow_completed', frame.flowId, frame.stepId));
  resetSlots(dialogue, frame.flowId);
}

/**
 * Continues after a user flow ended. If the flow interrupted another one, asks whether to continue
 * that one. After the last flow, starts `pattern_completed`.
 */
export function afterFlow(
  dialogue: Dialogue,
  ended: FlowFrame,
  options: { readonly mayComplete: boolean },
): void {
  const remaining = activeSegment(dialogue.tracker.stack);
  if (remaining !== undefined) {
    if (ended.frameType === 'interrupt' && isStarted(remaining)) askToContinue(dialogue, ended);
    return;
  }
  const wantsQuestion = dialogue.flows.get(ended.flowId)?.runPatternCompleted ?? true;
  if (!options.mayComplete || !wantsQuestion) return;
  dialogue.pushPattern('pattern_completed', {
    previous_flow_name: readableName(dialogue, ended.flowId),
    survey_due: !dialogue.tracker.state.surveyed,
  });
}

function askToContinue(dialogue: Dialogue, ended: FlowFrame): void {
  const interrupted = segmentsOf(dialogue.tracker.stack).filter(isStarted).reverse();
  const ids = interrupted.map((segment) => segment.root.flowId);
  const names = ids.map((id) => readableName(dialogue, id));
  dialogue.pushPattern('pattern_continue_interrupted', {
    previous_flow_name: readableName(dialogue, ended.flowId),
    interrupted_flow_ids: ids,
    interrupted_flow_names: names,
    interrupted_flow_options: listOf(names),
    multiple_flows_interrupted: names.length > 1,
  });
}

/** `a`, `a or b`, `a, b or c`. */
export function listOf(names: readonly string[]): string {
  const last = names.at(-1);
  if (last === undefined || names.length === 1) return last ?? '';
  return `${names.slice(0, -1).join(', ')} or ${last}`;
}

/** Cancels a user flow, the flows it called and the agent it waits for, and removes them from the stack. */
export async function cancelSegment(
  dialogue: Dialogue,
  segment: Segment,
  { keepsSlots = false }: { readonly keepsSlots?: boolean } = {},
): Promise<void> {
  const { tracker } = dialogue;
  tracker.setStack(removeFrames(tracker.stack, segment.frames));
  for (const frame of segment.frames.toReversed()) {
    if (frame.type !== 'agent') continue;
    tracker.apply(
      agentEvent('cancelled', frame.flowId, frame.agentId, { reason: 'flow cancelled' }),
    );
  }
  await cancelAgents(dialogue, waitingAgents(dialogue, segment.frames));
  for (const frame of callChain(segment).toReversed()) {
    tracker.apply(flowEvent('flow_cancelled', frame.flowId, frame.stepId));
  }
  if (!keepsSlots) resetSlots(dialogue, segment.root.flowId);
}

/** Cancels every flow without a message. */
export async function clearStack(
  dialogue: Dialogue,
  options: { readonly keepsSlots?: boolean } = {},
): Promise<void> {
  for (const segment of segmentsOf(dialogue.tracker.stack).toReversed()) {
    await cancelSegment(dialogue, segment, options);
  }
  dialogue.tracker.setStack([]);
}

/** Ends the flow of the frame and all flows in its chain of calls, and starts the target instead. */
export function linkTo(
  dialogue: Dialogue,
  frame: FlowFrame | PatternFrame,
  target: string,
): undefined {
  const flow = dialogue.flows.get(target);
  if (flow === undefined) {
    throw new StepFailure('unknown_flow', `flow ${frame.flowId} links to unknown flow ${target}`);
  }
  const { tracker } = dialogue;
  const segment = frame.type === 'flow' ? activeSegment(tracker.stack) : undefined;
  const gone = segment?.frames ?? [frame];
  tracker.setStack(removeFrames(tracker.stack, gone));
  tracker.apply(flowEvent('flow_completed', frame.flowId, frame.stepId));
  if (flow.isPattern) {
    if (target === 'pattern_customer_satisfaction') tracker.markSurveyed();
    const name = readableName(dialogue, frame.flowId);
    dialogue.pushPattern(
      target,
      frame.type === 'pattern' ? frame.context : { previous_flow_name: name },
    );
  } else {
    startLinked(dialogue, target, segment?.root);
  }
  // After the target is on the stack, so that slots that both flows share are kept.
  resetSlots(dialogue, segment?.root.flowId ?? frame.flowId);
}

function startLinked(dialogue: Dialogue, flowId: string, source: FlowFrame | undefined): void {
  const { tracker } = dialogue;
  const waiting = segmentOfFlow(tracker.stack, flowId);
  if (waiting !== undefined) return resumeSegment(dialogue, waiting);
  // A pattern that links to a flow interrupts the flow below it. A flow passes on its own frame type.
  if (source === undefined) interruptActive(dialogue);
  const inherited = source?.frameType === 'interrupt' ? 'interrupt' : 'link';
  dialogue.pushFlow(flowId, source === undefined ? frameTypeOver(tracker.stack) : inherited);
}

/**
 * Resets the slots of an ended flow to their initial values, except for persisted slots and slots
 * that another flow on the stack uses. Slots that only actions set keep their values. Every slot that
 * a user flow asks for gets a reset event, even if it was never filled: the log shows which slots the
 * flow released.
 */
function resetSlots(dialogue: Dialogue, flowId: string): void {
  const { all, collected, persisted } = flowSlots(flowId, dialogue.flows);
  const isPatternFlow = dialogue.flows.get(flowId)?.isPattern === true;
  const inUse = slotsInUse(dialogue, flowId);
  for (const name of all) {
    const slot = dialogue.domain.slots.get(name);
    if (slot === undefined || persisted.has(name) || inUse.has(name)) continue;
    dropValidation(dialogue, name);
    const isInitial = dialogue.tracker.slot(name) === slot.initialValue;
    if (isInitial && (isPatternFlow || !collected.has(name))) continue;
    dialogue.tracker.apply(slotSet(name, slot.initialValue));
  }
}

/** A slot without a value can't be invalid, so its validation is dropped. */
function dropValidation({ tracker }: Dialogue, slot: string): void {
  const kept = tracker.stack.filter(
    (frame) => !(isPattern(frame, VALIDATE_SLOT) && frame.context['validate'] === slot),
  );
  if (kept.length < tracker.stack.length) tracker.setStack(kept);
}

/** The slots of the user flows on the stack, which the end of another flow must not reset. */
function slotsInUse(dialogue: Dialogue, ended: string): ReadonlySet<string> {
  const inUse = new Set<string>();
  for (const segment of segmentsOf(dialogue.tracker.stack)) {
    // The same flow started again ("no, start over with Bob") keeps only slots of the current message.
    const isAnew = segment.root.flowId === ended && !isStarted(segment);
    for (const frame of callChain(segment)) {
      for (const name of flowSlots(frame.flowId, dialogue.flows).all) {
        if (!isAnew || dialogue.facts.filled.has(name)) inUse.add(name);
      }
    }
  }
  return inUse;
}

/**
 * Starts flows in the order in which the user asked for them: the first goes on top, the others wait
 * below it. The active flow is interrupted, unless it is `cancelled`: the flow that the same message
 * cancels.
 */
export function startFlows(
  dialogue: Dialogue,
  flowIds: readonly string[],
  cancelled: Segment | undefined,
): void {
  if (flowIds.length === 0) return;
  const { tracker } = dialogue;
  const wasAskingToContinue = isAskingToContinue(tracker.stack);
  tracker.setStack(withoutConversationPatterns(tracker.stack));
  const active = activeSegment(tracker.stack);
  // The user asked for the flow that is already on top: nothing is interrupted.
  const isSame = flowIds.length === 1 && active?.root.flowId === flowIds[0];
  if (
    active !== undefined &&
    !isSameSegment(active, cancelled) &&
    !isSame &&
    !wasAskingToContinue
  ) {
    interruptActive(dialogue);
  }
  for (const flowId of flowIds.toReversed()) startFlow(dialogue, flowId, cancelled);
}

function startFlow(dialogue: Dialogue, flowId: string, cancelled: Segment | undefined): void {
  const { tracker } = dialogue;
  const waiting = segmentOfFlow(tracker.stack, flowId);
  if (waiting !== undefined && !isSameSegment(waiting, cancelled)) {
    return resumeSegment(dialogue, waiting);
  }
  const below = removeFrames(tracker.stack, cancelled?.frames ?? []);
  dialogue.pushFlow(flowId, frameTypeOver(below));
}

function isSameSegment(one: Segment, other: Segment | undefined): boolean {
  return one.root.frameId === other?.root.frameId;
}

/** Interrupts the user flow nearest to the top and its agent. */
export function interruptActive(dialogue: Dialogue): void {
  const active = activeSegment(dialogue.tracker.stack);
  if (active === undefined || !isStarted(active)) return;
  const { flowId, stepId } = active.root;
  dialogue.tracker.apply(flowEvent('flow_interrupted', flowId, stepId));
  interruptAgent(dialogue);
}

/** Interrupts the agent that waits for the user: it does not get this message. */
export function interruptAgent(dialogue: Dialogue): void {
  const agent = agentOf(activeSegment(dialogue.tracker.stack));
  if (agent?.state !== 'waiting_for_input') return;
  dialogue.replace({ ...agent, state: 'interrupted' });
  dialogue.tracker.apply(agentEvent('interrupted', agent.flowId, agent.agentId));
}

/** Moves a flow to the top. The flow asks its question again or calls its agent again. */
export function resumeSegment(dialogue: Dialogue, segment: Segment): void {
  const { tracker } = dialogue;
  tracker.setStack(moveToTop(tracker.stack, segment));
  if (!isStarted(segment)) return;
  tracker.apply(flowEvent('flow_resumed', segment.root.flowId, segment.root.stepId));
  resumeAgent(dialogue);
}

function resumeAgent(dialogue: Dialogue): void {
  const agent = agentOf(activeSegment(dialogue.tracker.stack));
  if (agent?.state !== 'interrupted') return;
  dialogue.replace({ ...agent, state: 'resuming' });
  dialogue.tracker.apply(agentEvent('resumed', agent.flowId, agent.agentId));
}
