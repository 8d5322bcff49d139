import type { JsonObject } from '../../../protocol/index.ts';
import type { StackFrame } from '../../conversation.ts';
import { correctSlots } from '../correction.ts';
import { contextOf, type Dialogue } from '../dialogue.ts';
import { checkSlots } from '../validation.ts';
import { beneath } from './beneath.ts';

/** Makes the corrections of `context.corrected_slots` true. */
export function correctFlowSlot(dialogue: Dialogue, frame: StackFrame | undefined): Promise<void> {
  const slots = frame === undefined ? {} : contextOf(frame)['corrected_slots'];
  const corrected = typeof slots === 'object' && slots !== null ? (slots as JsonObject) : {};
  return beneath(dialogue, frame, () => {
    correctSlots(dialogue, corrected);
    checkSlots(dialogue, Object.keys(corrected));
  });
}
