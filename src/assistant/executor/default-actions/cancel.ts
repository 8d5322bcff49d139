import type { JsonValue } from '../../../protocol/index.ts';
import type { StackFrame } from '../../conversation.ts';
import { isStarted, segmentOfFlow, segmentsOf } from '../../stack/index.ts';
import { contextOf, type Dialogue } from '../dialogue.ts';
import { afterFlow, cancelSegment } from '../flow-end.ts';
import { beneath } from './beneath.ts';

/** Ends the flow that `context.canceled_frames` names; what follows on its end comes after the pattern. */
export function cancelFlow(dialogue: Dialogue, frame: StackFrame | undefined): Promise<void> {
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

/** The user does not want to go on with what was interrupted. */
export function cancelInterruptedFlows(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
): Promise<void> {
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
