import { VALIDATE_SLOT } from '../stack/index.ts';
import type { Dialogue } from './dialogue.ts';

/**
 * Checks slots that were just filled against the domain's own rejections, at once and whatever
 * flow is on. The pattern of each invalid one goes on the stack, and nothing else goes on until
 * the slot is valid.
 */
export function checkSlots(dialogue: Dialogue, names: readonly string[]): void {
  for (const name of names) {
    const validation = dialogue.domain.slots.get(name)?.validation;
    if (validation === undefined || dialogue.tracker.slot(name) === null) continue;
    const askAction = `action_ask_${name}`;
    const context = {
      validate: name,
      refill_utter: validation.refillUtter,
      refill_action: dialogue.domain.actions.has(askAction) ? askAction : null,
      rejections: validation.rejections.map((one) => ({ if: one.if, utter: one.utter })),
    };
    const frame = {
      type: 'pattern',
      frameId: '',
      flowId: VALIDATE_SLOT,
      stepId: '',
      context,
    } as const;
    if (validation.rejections.some((one) => dialogue.holds(one.if, frame))) {
      dialogue.pushPattern(VALIDATE_SLOT, context);
    }
  }
}
