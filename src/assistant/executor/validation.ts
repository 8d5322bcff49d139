import type { JsonObject } from '../../protocol/index.ts';
import type { StackFrame } from '../conversation.ts';
import { isPattern, VALIDATE_SLOT } from '../stack/index.ts';
import type { Dialogue } from './dialogue.ts';

/**
 * Checks slots that were just filled against the domain's own rejections, at once, whoever filled
 * them and whatever flow is on. The pattern of each invalid one goes on the stack, and nothing else goes on until
 * the slot is valid.
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

/** What the pattern has to know to ask for the slot again; undefined when its value is fine. */
function validationOf(dialogue: Dialogue, name: string): JsonObject | undefined {
  const validation = dialogue.domain.slots.get(name)?.validation;
  if (validation === undefined || dialogue.tracker.slot(name) === null) return undefined;
  const { rejections, refillUtter } = validation;
  if (!rejections.some((one) => dialogue.holds(one.if))) return undefined;
  const askAction = `action_ask_${name}`;
  // What the domain says to ask again with goes before what asks the first time.
  const isUsual = refillUtter === `utter_ask_${name}`;
  return {
    validate: name,
    refill_utter: refillUtter,
    refill_action: isUsual && dialogue.domain.actions.has(askAction) ? askAction : null,
    rejections: rejections.map((one) => ({ if: one.if, utter: one.utter })),
  };
}
