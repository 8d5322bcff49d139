import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { StackFrame } from '../conversation.ts';
import { coerceSlotValue } from '../domain/coerce.ts';
import type { Slot } from '../model.ts';
import { INTERNAL_ERROR_RESPONSE } from '../responses/responder.ts';
import { isPattern, VALIDATE_SLOT } from '../stack/stack.ts';
import { slotSet } from '../tracker/events.ts';
import { contextOf, type Dialogue } from './dialogue.ts';

/**
 * Checks the slot that the pattern asks for or validates: first its type, then the conditions of
 * the pattern's context. An invalid value is removed, with a message that explains why.
 */
export async function runSlotRejections(
  dialogue: Dialogue,
  frame: StackFrame | undefined,
): Promise<void> {
  if (frame === undefined) return;
  const context = contextOf(frame);
  const name = context['collect'] ?? context['validate'];
  const slot = typeof name === 'string' ? dialogue.domain.slots.get(name) : undefined;
  if (slot === undefined || dialogue.tracker.slot(slot.name) === null) return;
  const rejection = rejectionOf(dialogue, slot, context);
  if (rejection === undefined) return;
  const value = dialogue.tracker.slot(slot.name);
  dialogue.tracker.apply(slotSet(slot.name, null));
  await dialogue.respond(rejection, context, { value });
}

/** The response that says why the value of a slot is not accepted. */
function rejectionOf(dialogue: Dialogue, slot: Slot, context: JsonObject): string | undefined {
  const value = dialogue.tracker.slot(slot.name);
  if (!coerceSlotValue(slot, value).ok) return typeRejection(slot);
  for (const rejection of rejectionsOf(context['rejections'])) {
    try {
      const scope = { slots: dialogue.tracker.slots, context };
      if (compileCondition(rejection.if).evaluate(scope)) return rejection.utter;
    } catch (error) {
      const { logger } = dialogue.options;
      logger.error({ slot: slot.name, condition: rejection.if, error }, 'rejection.invalid');
      return INTERNAL_ERROR_RESPONSE;
    }
  }
  return undefined;
}

function typeRejection(slot: Slot): string {
  switch (slot.type) {
    case 'bool':
      return 'utter_boolean_slot_rejection';
    case 'categorical':
      return 'utter_categorical_slot_rejection';
    case 'float':
      return 'utter_float_slot_rejection';
    default:
      return INTERNAL_ERROR_RESPONSE;
  }
}

function rejectionsOf(value: JsonValue | undefined): readonly { if: string; utter: string }[] {
  return Array.isArray(value) ? (value as readonly { if: string; utter: string }[]) : [];
}

/**
 * Checks newly filled slots against the rejections of the domain, independent of the extractor and
 * the active flow. Pushes a pattern for each invalid slot; the flow continues when the slot is valid.
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

/** The context of the pattern that asks for the slot again; undefined when its value is valid. */
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
