import { coerceSlotValue } from '../domain/index.ts';
import { flowSlots } from '../executor/index.ts';
import type { Command, Extractor } from '../command.ts';
import type { Slot } from '../model.ts';
import { callChain, isPattern, segmentsOf } from '../stack/index.ts';
import { isEqual } from '../templates/index.ts';
import type { Companions, Situation, Verdict } from './clean-up.ts';

type SetSlot = Command & { readonly command: 'set slot' };

/**
 * Judges a slot value: may this extractor fill the slot, does anybody ask for it, does it fit, is
 * it new? A slot that has a value in a flow under way is corrected rather than set.
 */
export function judgeSetSlot(
  command: SetSlot,
  situation: Situation,
  companions: Companions,
): Verdict {
  const { name, by } = command;
  const slot = situation.domain.slots.get(name);
  if (slot === undefined || !mayFill(slot, by)) return 'impossible';
  if (isGenerated(by) && !mayOverrule(slot, situation, companions)) return 'satisfied';
  const isAsked = situation.collect?.slot.name === name;
  if (by !== 'orchestrator' && !isAsked && !isWanted(name, situation, companions)) {
    return 'impossible';
  }
  const coerced = coerceSlotValue(slot, command.value);
  // A wrong answer to a question is kept as it is: the question tells the user what is wrong.
  if (!coerced.ok) return isAsked ? command : 'impossible';
  const value = coerced.value;
  const before = situation.slots[name] ?? null;
  if (isEqual(before, value)) return 'satisfied';
  // An agent that waits sees every slot when it goes on: an orchestrator does not interrupt it.
  const isForAgent = by === 'orchestrator' && situation.agents.active !== undefined;
  const isCorrection = !isForAgent && !isAsked && before !== null && !companions.isCancelling;
  if (isCorrection && isCollected(name, situation)) {
    return { command: 'correct slots', slots: { [name]: value } };
  }
  return { ...command, value };
}

const rules = new Set(['from_entity', 'from_intent', 'from_text', 'from_trigger_intent']);

/** Payloads and orchestrators fill any slot; the others only those mapped to them. */
function mayFill(slot: Slot, by: Extractor): boolean {
  if (by === 'payload') return slot.type !== 'list';
  if (by === 'orchestrator') return !slot.builtin;
  return slot.mappings.some(({ type }) =>
    isGenerated(by) ? type === 'from_llm' : rules.has(type),
  );
}

/** Whether a command generator read the value from what a user typed. */
function isGenerated(by: Extractor): boolean {
  return by === 'llm' || by === 'matching';
}

/** What a rule extracted stands against a model, unless the slot says otherwise. */
function mayOverrule(slot: Slot, situation: Situation, { extracted }: Companions): boolean {
  if (extracted.has(slot.name)) return false;
  if (situation.filledBy(slot.name) !== 'nlu' || situation.slots[slot.name] === null) return true;
  return slot.mappings.some((one) => one.type === 'from_llm' && one.allow_nlu_correction);
}

/** Whether a flow on the stack, one that starts now, or a pattern that waits works with the slot. */
function isWanted(name: string, situation: Situation, { starting }: Companions): boolean {
  const { stack, flows } = situation;
  const ids = [...starting, ...stack.map((frame) => frame.flowId)];
  if (ids.some((id) => flowSlots(id, flows).collected.has(name))) return true;
  return stack.some((frame) => isPattern(frame) && frame.context['validate'] === name);
}

/** Whether a user flow under way asks for the slot. */
function isCollected(name: string, { stack, flows }: Situation): boolean {
  return segmentsOf(stack).some((segment) =>
    callChain(segment).some((frame) => flowSlots(frame.flowId, flows).collected.has(name)),
  );
}
