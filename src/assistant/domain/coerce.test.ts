import { expect, test } from 'vitest';
import type { JsonValue } from '../../protocol/index.ts';
import type { Slot, SlotType } from '../model.ts';
import { coerceSlotValue } from './slot.ts';

function slot(type: SlotType, fields: Partial<Slot> = {}): Slot {
  return { name: 'x', type, initialValue: null, mappings: [], builtin: false, ...fields };
}

const category = slot('categorical', { values: ['Gold', 'silver', 3, true] });
const bounded = slot('float', { minValue: 0, maxValue: 10 });

test.each<[Slot, JsonValue, JsonValue]>([
  [slot('text'), 'a', 'a'],
  [slot('text'), 5, '5'],
  [slot('text'), null, null],
  [slot('bool'), true, true],
  [slot('bool'), 'Yes', true],
  [slot('bool'), ' off ', false],
  [slot('bool'), 0, false],
  [slot('bool'), '1', true],
  [slot('float'), 1.5, 1.5],
  [slot('float'), ' -2.50 ', -2.5],
  [slot('float'), '1e3', 1000],
  [slot('float', { maxValue: 1 }), 5, 5],
  [bounded, 10, 10],
  [category, 'GOLD', 'Gold'],
  [category, ' Silver', 'silver'],
  [category, '3', 3],
  [category, 'True', true],
  [category, null, null],
  [slot('any'), { a: [1] }, { a: [1] }],
  [slot('list'), [1, 'a'], [1, 'a']],
])('%o takes %j as %j', (one, value, expected) => {
  expect(coerceSlotValue(one, value)).toEqual({ ok: true, value: expected });
});

test.each<[Slot, JsonValue]>([
  [slot('text'), { a: 1 }],
  [slot('text'), ['a']],
  [slot('bool'), 'maybe'],
  [slot('bool'), 2],
  [slot('bool'), ''],
  [slot('float'), 'ten'],
  [slot('float'), ''],
  [slot('float'), '0x10'],
  [slot('float'), 'Infinity'],
  [slot('float'), true],
  [bounded, 10.1],
  [bounded, '-1'],
  [category, 'bronze'],
  [category, ['Gold']],
  [slot('list'), 'a'],
])('%o refuses %j', (one, value) => {
  expect(coerceSlotValue(one, value)).toEqual({ ok: false });
});
