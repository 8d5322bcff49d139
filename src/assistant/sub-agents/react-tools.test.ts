import { assert, jsonValue, property } from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../protocol/index.ts';
import type { Slot, SlotType } from '../model.ts';
import { readSlotValue, setSlotTool } from './react-tools.ts';

function slot(type: SlotType, values?: readonly JsonValue[]): Slot {
  const fields = { name: 's', initialValue: null, mappings: [], builtin: false };
  return { ...fields, type, ...(values !== undefined && { values }) };
}

test('a tool fills a slot by one text, and tells what the slot takes', () => {
  expect(setSlotTool(slot('categorical', ['Ritz', 'Savoy']), () => undefined)).toMatchObject({
    name: 'set_slot_s',
    description: 'Stores the value of s (categorical). One of: Ritz, Savoy.',
    inputSchema: { required: ['slot_value'], additionalProperties: false },
  });
  expect(setSlotTool(slot('bool'), () => undefined).description).toContain('One of: true, false.');
});

test.each([
  [slot('text'), ' Rome ', { value: 'Rome' }],
  [slot('float'), '12.5', { value: 12.5 }],
  [slot('float'), 3, { value: 3 }],
  [slot('bool'), 'true', { value: true }],
  [slot('categorical', ['Ritz']), 'ritz', { value: 'Ritz' }],
  [slot('list'), '[1, 2]', { value: [1, 2] }],
  [slot('any'), '{"a": 1}', { value: { a: 1 } }],
  [slot('any'), 'words', { value: 'words' }],
  [slot('float'), 'many', { problem: 's takes no such value: it is float' }],
  [slot('text'), '', { problem: 'slot_value is missing' }],
  [slot('text'), null, { problem: 'slot_value is missing' }],
])('%o reads %o', (one, slot_value, expected) => {
  const read = (): JsonValue => readSlotValue(one, { slot_value });
  if ('value' in expected) expect(read()).toEqual(expected.value);
  else expect(read).toThrow(expected.problem);
});

test('whatever a model gives is a value of the slot, or refused in words', () => {
  assert(
    property(jsonValue(), (value) => {
      for (const type of ['text', 'bool', 'float', 'any', 'list'] as const) {
        for (const input of [value, { slot_value: value }] as JsonValue[]) {
          try {
            expect(readSlotValue(slot(type), input)).not.toBe(undefined);
          } catch (error) {
            expect(String(error)).toMatch(/slot_value is missing|takes no such value/);
          }
        }
      }
    }),
  );
});
