import type { JsonValue } from '../../protocol/index.ts';
import type { CollectedStep, StackFrame } from '../conversation.ts';
import { replaceSegment, type Segment, segmentsOf } from '../stack/stack.ts';
import { slotSet } from '../tracker/events.ts';
import { questionFrame } from './collect.ts';
import type { Dialogue } from './dialogue.ts';
import { agentOf } from './interruption.ts';

/**
 * Changes slot values and takes every flow that asked for one of them back to the earliest of these
 * questions, so that all branches after it are evaluated again. Later answers stay; a
 * question that is not answered in advance (`ask_before_filling`) is asked again.
 */
export function correctSlots(dialogue: Dialogue, slots: Readonly<Record<string, JsonValue>>): void {
  const { tracker } = dialogue;
  for (const [name, value] of Object.entries(slots)) tracker.apply(slotSet(name, value));
  for (const { root } of segmentsOf(tracker.stack)) {
    // The stack changes under the loop: look the segment up again.
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
    // An agent sees every slot when it is called: it goes on with the new values.
    if (agent.state === 'waiting_for_input') dialogue.replace({ ...agent, state: 'resuming' });
    return;
  }
  const target = segment.root.collected?.find(({ slot }) => Object.hasOwn(slots, slot));
  if (target === undefined) return;
  const frames = framesFor(dialogue, segment, target, slots);
  if (frames === undefined) return;
  dialogue.tracker.setStack(replaceSegment(dialogue.tracker.stack, segment, frames));
}

function framesFor(
  dialogue: Dialogue,
  { root }: Segment,
  target: CollectedStep,
  slots: Readonly<Record<string, JsonValue>>,
): readonly StackFrame[] | undefined {
  const collected = (root.collected ?? []).slice(0, (root.collected ?? []).indexOf(target) + 1);
  const frames = dialogue.framesAt({ ...root, collected }, target.path);
  const last = frames?.at(-1);
  const step = last === undefined ? undefined : dialogue.stepOf(last);
  if (frames === undefined || last === undefined || step?.kind !== 'collect') return undefined;
  // A slot that was corrected to nothing is asked for; one with a value is only checked.
  const isKnown = (slots[step.slot] ?? null) !== null;
  if (step.askBeforeFilling && !isKnown) dialogue.tracker.apply(slotSet(step.slot, null));
  return [...frames, questionFrame(dialogue, step, last)];
}
