import type { StackFrame } from '../../conversation.ts';
import { removeFrames } from '../../stack/index.ts';
import type { Dialogue } from '../dialogue.ts';

/**
 * Works on the stack without the frame that runs the action, and puts the frame back on top:
 * whatever the work adds has its say after the frame.
 */
export async function beneath(
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
