import type { StackFrame } from '../../conversation.ts';
import { isStarted, type Segment, segmentsOf } from '../../stack/index.ts';
import { slotSet } from '../../tracker/index.ts';
import type { Dialogue } from '../dialogue.ts';
import { resumeSegment } from '../interruption.ts';
import { readableName } from '../readable-name.ts';
import { beneath } from './beneath.ts';

const CHOICE = 'interrupted_flow_to_continue';

/**
 * Goes on with the flow that the user chose, or with the last one that was interrupted when there
 * is no choice. A choice that names none of them is forgotten, so that the pattern asks again.
 */
export function continueInterruptedFlow(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
): Promise<void> {
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
