import type { JsonValue } from '../../protocol/index.ts';
import type { Slot, SlotMapping, SlotType } from '../model.ts';

const fromUser: SlotMapping = { type: 'from_llm', allow_nlu_correction: false };
const controlled: SlotMapping = { type: 'controlled' };

function builtin(
  name: string,
  type: SlotType,
  mapping: SlotMapping,
  fields: { readonly initialValue?: JsonValue; readonly values?: readonly JsonValue[] } = {},
): readonly [string, Slot] {
  return [name, { name, type, initialValue: null, mappings: [mapping], builtin: true, ...fields }];
}

/** Slots that every domain has and none may define: those of the engine and of its patterns. */
export const builtinSlots: ReadonlyMap<string, Slot> = new Map([
  builtin('language', 'text', controlled),
  builtin('session_started_metadata', 'any', controlled),
  builtin('requested_slot', 'text', controlled),
  builtin('dialogue_stack', 'any', controlled),
  builtin('route_session_to_calm', 'bool', controlled),
  builtin('mocked_datetime', 'any', controlled),
  builtin('confirm_correction', 'bool', fromUser),
  builtin('silence_timeout', 'float', controlled),
  builtin('consecutive_silence_timeouts', 'float', controlled, { initialValue: 0 }),
  builtin('interrupted_flow_to_continue', 'text', fromUser),
  builtin('continue_interrupted_flow_confirmation', 'bool', fromUser),
  builtin('max_clarification_options', 'float', controlled, { initialValue: 3 }),
  builtin('continue_conversation', 'bool', fromUser),
  builtin('csat_score', 'categorical', fromUser, { values: ['satisfied', 'unsatisfied'] }),
]);
