import { type Field, present, type Section } from '../../config/index.ts';
import { isJsonObject, type JsonValue } from '../../protocol/index.ts';
import type { Slot, SlotMapping, SlotType } from '../model.ts';
import { readRejection, readResponseName, type Use } from './uses.ts';

const slotTypes: readonly SlotType[] = ['text', 'bool', 'categorical', 'float', 'any', 'list'];
const mappingTypes = [
  'from_llm',
  'controlled',
  'custom',
  'from_entity',
  'from_intent',
  'from_text',
  'from_trigger_intent',
] as const;

/** Reads an entry of `slots:`. */
export function readSlot(name: string, field: Field, uses: Use[]): Slot | undefined {
  const section = field.section();
  if (section === undefined) return undefined;
  const type = readType(section.require('type', `one of ${slotTypes.join(', ')}`));
  const values = readValues(section, type);
  const minValue = section.number('min_value');
  const maxValue = section.number('max_value');
  if ((minValue === undefined) !== (maxValue === undefined)) {
    section.field.keyWarn('the range is checked only when both min_value and max_value are there');
  }
  if (minValue !== undefined && maxValue !== undefined && minValue > maxValue) {
    section.get('min_value')?.error('must not be more than max_value');
  }
  const mappings = section.list('mappings').flatMap((item) => readMapping(item, uses));
  const validation = readValidation(name, section.section('validation'), uses);
  const slot: Slot = {
    ...present({ name, type: type ?? 'any', values, minValue, maxValue, validation }),
    initialValue: null,
    mappings: mappings.length > 0 ? mappings : [{ type: 'from_llm', allow_nlu_correction: false }],
    builtin: false,
  };
  const initialValue = readInitialValue(slot, section);
  // Options of components that Legate doesn't have. They are ignored without a warning.
  for (const key of ['influence_conversation', 'shared_for_coexistence', 'value_reset_delay']) {
    section.get(key);
  }
  section.finish();
  return { ...slot, initialValue };
}

/** Reads a type by its name or by the path of Rasa's class. Other classes are read as `any`. */
function readType(field: Field | undefined): SlotType | undefined {
  const path = typeof field?.value === 'string' ? field.value : '';
  if (path === 'unfeaturized') {
    field?.warn('"unfeaturized" is read as any', 'write any');
    return 'any';
  }
  if (!path.includes('.')) return field?.oneOf(slotTypes);
  const name = path.split('.').at(-1)?.replace(/Slot$/, '').toLowerCase();
  const type = slotTypes.find((one) => one === (name === 'boolean' ? 'bool' : name));
  if (type === undefined) field?.warn(`the class ${path} is left out: the slot holds any value`);
  return type ?? 'any';
}

function readValues(
  section: Section,
  type: SlotType | undefined,
): readonly JsonValue[] | undefined {
  const field = section.get('values');
  if (type !== 'categorical') return undefined;
  if (field === undefined) {
    section.field.keyError('a categorical slot needs "values"', { hint: 'list what it may hold' });
    return [];
  }
  const items = field.list() ?? [];
  if (items.length === 0) field.error('must hold at least one value');
  const seen = new Set<string>();
  for (const item of items) {
    const text = item.text()?.toLowerCase();
    if (text === undefined) continue;
    if (seen.has(text)) item.error(`"${text}" is there twice`, 'upper and lower case do not count');
    seen.add(text);
  }
  return items.map((item) => item.value).filter((value) => typeof value !== 'object');
}

function readInitialValue(slot: Slot, section: Section): JsonValue {
  const field = section.get('initial_value');
  if (field === undefined) return null;
  const coerced = coerceSlotValue(slot, field.value);
  if (coerced.ok) return coerced.value;
  const hint = slot.values && `one of ${slot.values.map(String).join(', ')}`;
  field.error(`does not fit a slot of type ${slot.type}`, hint);
  return null;
}

function readValidation(name: string, section: Section | undefined, uses: Use[]) {
  if (section === undefined) return undefined;
  const rejections = section.items('rejections', (entry) => readRejection(entry, uses));
  const refill = readResponseName(section.get('refill_utter'), uses);
  section.finish();
  return { rejections, refillUtter: refill ?? `utter_ask_${name}` };
}

function readMapping(field: Field, uses: Use[]): readonly SlotMapping[] {
  const section = field.section();
  const type = section?.require('type', `one of ${mappingTypes.join(', ')}`)?.oneOf(mappingTypes);
  if (section === undefined || type === undefined) return [];
  section.get('coexistence_system');
  if (type === 'from_llm') {
    const allow_nlu_correction = section.boolean('allow_nlu_correction') ?? false;
    section.finish();
    return [{ type, allow_nlu_correction }];
  }
  if (type !== 'controlled' && type !== 'custom') {
    const { type: _, ...options } = isJsonObject(field.value) ? field.value : {};
    return [{ type, options }];
  }
  if (type === 'custom') section.get('type')?.warn('"custom" is deprecated', 'write controlled');
  const action = section.get('run_action_every_turn') ?? section.get('action');
  const run_action_every_turn = action?.name();
  if (action !== undefined && run_action_every_turn !== undefined) {
    uses.push({ kind: 'action', name: run_action_every_turn, field: action });
  }
  section.finish();
  return [{ type: 'controlled', ...present({ run_action_every_turn }) }];
}

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

/** Slots of the engine and its patterns. Every domain has them, and projects can't define them. */
export const builtinSlots: ReadonlyMap<string, Slot> = new Map([
  builtin('language', 'text', controlled),
  builtin('session_started_metadata', 'any', controlled),
  builtin('requested_slot', 'text', controlled),
  builtin('dialogue_stack', 'any', controlled),
  builtin('route_session_to_calm', 'bool', controlled),
  builtin('mocked_datetime', 'any', controlled),
  builtin('confirm_correction', 'bool', fromUser),
  builtin('silence_timeout', 'float', controlled, { initialValue: 7 }),
  builtin('consecutive_silence_timeouts', 'float', controlled, { initialValue: 0 }),
  builtin('interrupted_flow_to_continue', 'text', fromUser),
  builtin('continue_interrupted_flow_confirmation', 'bool', fromUser),
  builtin('max_clarification_options', 'float', controlled, { initialValue: 3 }),
  builtin('continue_conversation', 'bool', fromUser),
  builtin('csat_score', 'categorical', fromUser, { values: ['satisfied', 'unsatisfied'] }),
]);

export type Coerced = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false };

const refused: Coerced = { ok: false };
const truths = new Set(['true', 'yes', 'y', 'on', '1']);
const falsehoods = new Set(['false', 'no', 'n', 'off', '0']);

/**
 * Coerces a value to the type of a slot: numbers from texts, booleans from words, categories to their
 * declared casing. Null clears any slot.
 * @example coerceSlotValue(amount, '12.50') // { ok: true, value: 12.5 }
 */
export function coerceSlotValue(slot: Slot, value: JsonValue): Coerced {
  if (value === null) return accepted(null);
  switch (slot.type) {
    case 'any':
      return accepted(value);
    case 'list':
      return Array.isArray(value) ? accepted(value) : refused;
    case 'text':
      return typeof value === 'object' ? refused : accepted(String(value));
    case 'bool':
      return coerceBoolean(value);
    case 'float':
      return coerceNumber(slot, value);
    case 'categorical':
      return coerceCategory(slot, value);
  }
}

/**
 * The value of a slot after an action set it: unchanged, so that conditions of flows get the type that the
 * action chose. A list slot wraps a single value. A categorical slot only accepts its declared values.
 * @example storedSlotValue(claimStatus, 0) // { ok: true, value: 0 }, also in a text slot
 */
export function storedSlotValue(slot: Slot, value: JsonValue): Coerced {
  if (value === null) return accepted(null);
  if (slot.type === 'categorical') return coerceCategory(slot, value);
  // '', 0 and false count as unset and are not wrapped.
  const isSingle = slot.type === 'list' && !Array.isArray(value) && Boolean(value);
  return accepted(isSingle ? [value] : value);
}

function accepted(value: JsonValue): Coerced {
  return { ok: true, value };
}

function coerceBoolean(value: JsonValue): Coerced {
  if (typeof value === 'boolean') return accepted(value);
  if (typeof value === 'object') return refused;
  const word = String(value).trim().toLowerCase();
  if (truths.has(word)) return accepted(true);
  return falsehoods.has(word) ? accepted(false) : refused;
}

/** The range is only checked if both bounds are given. */
function coerceNumber({ minValue, maxValue }: Slot, value: JsonValue): Coerced {
  const isNumeral =
    typeof value === 'string' && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value.trim());
  const number = isNumeral ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return refused;
  const isInRange =
    minValue === undefined || maxValue === undefined || (number >= minValue && number <= maxValue);
  return isInRange ? accepted(number) : refused;
}

function coerceCategory({ values = [] }: Slot, value: JsonValue): Coerced {
  if (typeof value === 'object') return refused;
  const exact = values.find((one) => one === value);
  if (exact !== undefined) return accepted(exact);
  const wanted = String(value).trim().toLowerCase();
  const near = values.find(
    (one) => typeof one !== 'object' && String(one).toLowerCase() === wanted,
  );
  return near === undefined ? refused : accepted(near);
}
