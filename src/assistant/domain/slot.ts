import { type Field, present, type Section } from '../../config/index.ts';
import { type JsonValue, isJsonObject } from '../../protocol/index.ts';
import type { Slot, SlotMapping, SlotType } from '../model.ts';
import { coerceSlotValue } from './coerce.ts';
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

/** One entry of `slots:`. */
export function readSlot(name: string, field: Field, uses: Use[]): Slot | undefined {
  const section = field.section();
  if (section === undefined) return undefined;
  const type = section.require('type', `one of ${slotTypes.join(', ')}`)?.oneOf(slotTypes);
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
  // These steer machinery that is not there; a project that sets them means no harm.
  for (const key of ['influence_conversation', 'shared_for_coexistence', 'value_reset_delay']) {
    section.get(key);
  }
  section.finishLeniently();
  return { ...slot, initialValue };
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
  section.finishLeniently();
  return { rejections, refillUtter: refill ?? `utter_ask_${name}` };
}

function readMapping(field: Field, uses: Use[]): readonly SlotMapping[] {
  const section = field.section();
  const type = section?.require('type', `one of ${mappingTypes.join(', ')}`)?.oneOf(mappingTypes);
  if (section === undefined || type === undefined) return [];
  section.get('coexistence_system');
  if (type === 'from_llm') {
    const allow_nlu_correction = section.boolean('allow_nlu_correction') ?? false;
    section.finishLeniently();
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
  section.finishLeniently();
  return [{ type: 'controlled', ...present({ run_action_every_turn }) }];
}
