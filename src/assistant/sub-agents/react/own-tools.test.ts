import { assert, jsonValue, property } from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../../protocol/index.ts';
import type { Slot, SlotType } from '../../model.ts';
import { readSlotValue, setSlotTool, slotOfCall } from './own-tools.ts';

function slot(type: SlotType, values?: readonly JsonValue[]): Slot {
  const fields = { name: 's', initialValue: null, mappings: [], builtin: false };
  return { ...fields, type, ...(values !== undefined && { values }) };
}

test('a tool fills a slot by one text, and tells what the slot takes', () => {
  expect(setSlotTool(slot('categorical', ['Ritz', 'Savoy']))).toMatchObject({
    name: 'set_slot_s',
    description: 'Stores the value of s (categorical). One of: Ritz, Savoy.',
    strict: true,
    inputSchema: { required: ['slot_value'], additionalProperties: false },
  });
  expect(setSlotTool(slot('bool')).description).toContain('One of: true, false.');
  expect(slotOfCall('set_slot_s')).toBe('s');
  expect(slotOfCall('find')).toBeUndefined();
});

test.each([
  [slot('text'), ' Rome ', { ok: true, value: 'Rome' }],
  [slot('float'), '12.5', { ok: true, value: 12.5 }],
  [slot('float'), 3, { ok: true, value: 3 }],
  [slot('bool'), 'true', { ok: true, value: true }],
  [slot('categorical', ['Ritz']), 'ritz', { ok: true, value: 'Ritz' }],
  [slot('list'), '[1, 2]', { ok: true, value: [1, 2] }],
  [slot('any'), '{"a": 1}', { ok: true, value: { a: 1 } }],
  [slot('any'), 'words', { ok: true, value: 'words' }],
  [slot('float'), 'many', { ok: false, problem: 's takes no such value: it is float' }],
  [slot('text'), '', { ok: false, problem: 'slot_value is missing' }],
  [slot('text'), null, { ok: false, problem: 'slot_value is missing' }],
])('%o reads %o', (one, slot_value, expected) => {
  expect(readSlotValue(one, { slot_value })).toEqual(expected);
});

test('no input makes reading fail', () => {
  assert(
    property(jsonValue(), (value) => {
      for (const type of ['text', 'bool', 'float', 'any', 'list'] as const) {
        expect(typeof readSlotValue(slot(type), value as JsonValue).ok).toBe('boolean');
        const wrapped = { slot_value: value as JsonValue };
        expect(typeof readSlotValue(slot(type), wrapped).ok).toBe('boolean');
      }
    }),
  );
});
