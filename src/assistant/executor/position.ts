import type { FlowFrame } from '../conversation.ts';
import type { Step } from '../model.ts';
import { atStep } from '../stack/index.ts';
import type { Dialogue } from './dialogue.ts';

/**
 * The frames that stand at a place inside a chain of calls, which `path` names by one step per
 * flow; undefined when the flows have no such place any more.
 */
export function framesAt(
  dialogue: Dialogue,
  root: FlowFrame,
  path: readonly string[],
): readonly FlowFrame[] | undefined {
  const frames: FlowFrame[] = [];
  let flowId: string | undefined = root.flowId;
  for (const stepId of path) {
    if (flowId === undefined) return undefined;
    const step: Step | undefined = dialogue.flows.get(flowId)?.steps.get(stepId);
    if (step === undefined) return undefined;
    frames.push(
      frames.length === 0
        ? atStep(root, stepId)
        : {
            type: 'flow',
            frameId: dialogue.tracker.newFrameId(),
            flowId,
            stepId,
            frameType: 'call',
          },
    );
    flowId = step.kind === 'call' ? step.target : undefined;
  }
  return frames.length === 0 ? undefined : frames;
}
