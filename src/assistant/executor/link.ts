import type { FlowFrame, PatternFrame } from '../conversation.ts';
import { START } from '../model.ts';
import { activeSegment, frameTypeOver, removeFrames, segmentOfFlow } from '../stack/index.ts';
import { flowEvent } from '../tracker/index.ts';
import type { Dialogue } from './dialogue.ts';
import { StepFailure } from './failure.ts';
import { resetSlots } from './flow-slots.ts';
import { interruptActive, resumeSegment } from './interruption.ts';
import { readableName } from './readable-name.ts';

/** Ends the flow of the frame, and all that called it, and starts another in its place. */
export function linkTo(
  dialogue: Dialogue,
  frame: FlowFrame | PatternFrame,
  target: string,
): undefined {
  const flow = dialogue.flows.get(target);
  if (flow === undefined) {
    throw new StepFailure(
      'unknown_flow',
      `flow ${frame.flowId} links to ${target}, which is no flow`,
    );
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
  // After the target is on the stack: slots that it shares with the flow that ends are kept.
  resetSlots(dialogue, segment?.root.flowId ?? frame.flowId);
}

function startLinked(dialogue: Dialogue, flowId: string, source: FlowFrame | undefined): void {
  const { tracker } = dialogue;
  const waiting = segmentOfFlow(tracker.stack, flowId);
  if (waiting !== undefined) return resumeSegment(dialogue, waiting);
  // A pattern that links to a flow interrupts what is below it; a flow hands on what it was.
  if (source === undefined) interruptActive(dialogue);
  const inherited = source?.frameType === 'interrupt' ? 'interrupt' : 'link';
  dialogue.push({
    type: 'flow',
    frameId: tracker.newFrameId(),
    flowId,
    stepId: START,
    frameType: source === undefined ? frameTypeOver(tracker.stack) : inherited,
  });
}
