import type { AgentFrame } from '../conversation.ts';
import {
  activeSegment,
  frameTypeOver,
  isAskingToContinue,
  isStarted,
  moveToTop,
  removeFrames,
  type Segment,
  segmentOfFlow,
  withoutConversationPatterns,
} from '../stack/stack.ts';
import { agentEvent, flowEvent } from '../tracker/events.ts';
import type { Dialogue } from './dialogue.ts';

/**
 * Starts flows in the order in which the user asked for them: the first goes on top, the others
 * wait below it. What was under way is interrupted; `cancelled` is what the same message cancels
 * and therefore does not count.
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
  // The user goes on with what is on top anyway: nothing is interrupted.
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

/** The user flow nearest to the top has to wait for something else. */
export function interruptActive(dialogue: Dialogue): void {
  const active = activeSegment(dialogue.tracker.stack);
  if (active === undefined || !isStarted(active)) return;
  const { flowId, stepId } = active.root;
  dialogue.tracker.apply(flowEvent('flow_interrupted', flowId, stepId));
  interruptAgent(dialogue);
}

/** The agent that waits for the user does not get this message. */
export function interruptAgent(dialogue: Dialogue): void {
  const agent = agentOf(activeSegment(dialogue.tracker.stack));
  if (agent?.state !== 'waiting_for_input') return;
  dialogue.replace({ ...agent, state: 'interrupted' });
  dialogue.tracker.apply(agentEvent('interrupted', agent.flowId, agent.agentId));
}

/** Brings a flow back to the top; its question is asked again, its agent called again. */
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

export function agentOf(segment: Segment | undefined): AgentFrame | undefined {
  return segment?.frames.find((frame) => frame.type === 'agent');
}
