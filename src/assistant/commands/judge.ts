import type { Command, Extractor } from '../conversation.ts';
import { coerceSlotValue } from '../domain/slot.ts';
import { flowSlots } from '../flows/flow-slots.ts';
import type { Slot } from '../model.ts';
import {
  activeSegment,
  callChain,
  flowIds,
  isAskingToContinue,
  isPattern,
  segmentsOf,
} from '../stack/stack.ts';
import { isEqual } from '../templates/value.ts';
import type { Companions, Situation, Verdict } from './clean-up.ts';

/** Checks a command; commands that fill slots pass. */
export function judgeFlowCommand(
  command: Command,
  situation: Situation,
  companions: Companions,
): Verdict {
  switch (command.command) {
    case 'start flow':
      return judgeStart(command, situation, companions);
    case 'cancel flow':
      return activeSegment(situation.stack) === undefined ? 'impossible' : command;
    case 'clarify':
      return judgeClarify(command, situation, companions);
    case 'chitchat':
      return needs('pattern_chitchat', 'action_trigger_chitchat', situation)
        ? { command: 'cannot handle', reason: 'cannot_handle_chitchat' }
        : command;
    case 'knowledge answer':
      return !situation.hasKnowledge && needs('pattern_search', 'action_trigger_search', situation)
        ? { command: 'cannot handle', reason: 'cannot_handle_no_relevant_answer' }
        : command;
    case 'continue agent':
      return situation.agents.active === undefined ? 'impossible' : command;
    case 'restart agent':
      return situation.agents.completed.includes(command.agent) ? command : 'impossible';
    default:
      return command;
  }
}

function judgeStart(
  command: Command & { readonly command: 'start flow' },
  { stack, flows, startable }: Situation,
  { isPayload, isCancelling }: Companions,
): Verdict {
  const flow = flows.get(command.flow);
  if (flow === undefined || flow.isPattern) return 'impossible';
  const active = activeSegment(stack);
  if (active !== undefined && !isCancelling && flowIds(active).includes(flow.id)) {
    // "Would you like to continue with it?" - "Yes, with the transfer."
    const isAsked = isAskingToContinue(stack) && active.root.flowId === flow.id;
    return isAsked ? command : 'satisfied';
  }
  return isPayload || startable.has(flow.id) ? command : 'impossible';
}

/** A clarification needs two options. It isn't allowed while the user is asked whether to continue a flow. */
function judgeClarify(
  command: Command & { readonly command: 'clarify' },
  situation: Situation,
  companions: Companions,
): Verdict {
  if (isAskingToContinue(situation.stack)) return 'impossible';
  const options = [...new Set(command.options)].filter((id) => situation.startable.has(id));
  const [only] = options;
  // None of the options can start.
  if (only === undefined && command.options.length > 0) return 'impossible';
  if (only === undefined || options.length > 1) return { command: 'clarify', options };
  if (command.isOffer === true) return { ...command, options };
  return judgeStart({ command: 'start flow', flow: only }, situation, companions);
}

/** Whether a pattern needs an action that the project doesn't provide. */
function needs(pattern: string, action: string, { flows, domain }: Situation): boolean {
  const flow = flows.get(pattern);
  // The built-in pattern informs the user that there are no documents.
  if (flow === undefined || flow.position.file.startsWith('legate/')) return false;
  const steps = [...flow.steps.values()];
  const usesAction = steps.some((step) => step.kind === 'action' && step.action === action);
  return usesAction && !domain.actions.has(action);
}

type SetSlot = Command & { readonly command: 'set slot' };

/**
 * Checks a slot value: the extractor may fill the slot, a flow asks for it, the value is valid, and it is
 * new. A slot that already has a value in an active flow is corrected instead of set.
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
  // An invalid answer stays as it is: the collect step explains why it is invalid.
  if (!coerced.ok) return isAsked ? command : 'impossible';
  const value = coerced.value;
  const before = situation.slots[name] ?? null;
  // An action can store the same value in another type: 5 in a text slot is "5" to the user.
  const held = coerceSlotValue(slot, before);
  if (isEqual(before, value) || (held.ok && isEqual(held.value, value))) return 'satisfied';
  // A waiting agent gets every slot when it continues, so slots of an orchestrator don't interrupt it.
  const isForAgent = by === 'orchestrator' && situation.agents.active !== undefined;
  const isCorrection = !isForAgent && !isAsked && before !== null && !companions.isCancelling;
  if (isCorrection && isCollected(name, situation)) {
    return { command: 'correct slots', slots: { [name]: value } };
  }
  return { ...command, value };
}

const rules = new Set(['from_entity', 'from_intent', 'from_text', 'from_trigger_intent']);

/** Payloads fill all slots except lists, orchestrators all except built-in ones, others only mapped ones. */
function mayFill(slot: Slot, by: Extractor): boolean {
  if (by === 'payload') return slot.type !== 'list';
  if (by === 'orchestrator') return !slot.builtin;
  return slot.mappings.some(({ type }) =>
    isGenerated(by) ? type === 'from_llm' : rules.has(type),
  );
}

/** Whether a command generator read the value from a typed message. */
function isGenerated(by: Extractor): boolean {
  return by === 'llm' || by === 'matching';
}

/** Rule-based values take precedence over generated ones, unless the slot has `allow_nlu_correction`. */
function mayOverrule(slot: Slot, situation: Situation, { extracted }: Companions): boolean {
  if (extracted.has(slot.name)) return false;
  if (situation.filledBy(slot.name) !== 'nlu' || situation.slots[slot.name] === null) return true;
  return slot.mappings.some((one) => one.type === 'from_llm' && one.allow_nlu_correction);
}

/** Whether a flow on the stack, a flow that starts now, or a pattern asks for the slot. */
function isWanted(name: string, situation: Situation, { starting }: Companions): boolean {
  const { stack, flows } = situation;
  const ids = [...starting, ...stack.map((frame) => frame.flowId)];
  if (ids.some((id) => flowSlots(id, flows).collected.has(name))) return true;
  return stack.some((frame) => isPattern(frame) && frame.context['validate'] === name);
}

/** Whether a user flow on the stack asks for the slot. */
function isCollected(name: string, { stack, flows }: Situation): boolean {
  return segmentsOf(stack).some((segment) =>
    callChain(segment).some((frame) => flowSlots(frame.flowId, flows).collected.has(name)),
  );
}
