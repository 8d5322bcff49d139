import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../protocol/index.ts';
import { closedSchema } from './schema-patterns.ts';
import { excessiveWork } from './validation-work.ts';

const twice = ($ref: string) => [{ $ref }, { $ref }];

/** Each of 40 schemas refers to the one before twice: 2^40 steps. */
const doubling: JsonObject = {
  $ref: '#/$defs/a40',
  $defs: Object.fromEntries([
    ['a0', { type: 'number' }],
    ...Array.from({ length: 40 }, (_, at) => [`a${at + 1}`, { anyOf: twice(`#/$defs/a${at}`) }]),
  ]) as JsonObject,
};

function nested(levels: number, key: string): JsonValue {
  return levels === 0
    ? 1
    : key === ''
      ? [nested(levels - 1, key)]
      : { [key]: nested(levels - 1, key) };
}

const tooMuch = 'its JSON Schema takes more than 100000 steps to check it';

test.each<[string, JsonObject, JsonValue, string]>([
  ['doubles 40 times', doubling, 'x', tooMuch],
  [
    'doubles with each property',
    { properties: { x: { anyOf: twice('#') } } },
    nested(60, 'x'),
    tooMuch,
  ],
  [
    'doubles with other properties',
    { additionalProperties: { oneOf: twice('#') } },
    nested(60, 'x'),
    tooMuch,
  ],
  ['doubles with each item', { items: { allOf: twice('#') } }, nested(60, ''), tooMuch],
  ['doubles for names', { propertyNames: doubling }, { x: 1 }, tooMuch],
  ['doubles where a property is there', { dependentSchemas: { x: doubling } }, { x: 1 }, tooMuch],
  ['doubles by conditions', { if: doubling }, 'x', tooMuch],
  ['refers to itself', { $ref: '#' }, 'x', 'its JSON Schema is infinitely recursive'],
  [
    'refers to itself by another',
    { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#' }] } } },
    1,
    'its JSON Schema is infinitely recursive',
  ],
  [
    'compares all items',
    { uniqueItems: true },
    Array.from({ length: 9_000 }, (_, a) => ({ a })),
    'its JSON Schema takes more than 180010 steps to check it',
  ],
])('a schema that %s is refused before any work', (_, schema, value, reason) => {
  // References by `closedSchema` are those of the whole schema.
  const whole =
    schema === doubling || !JSON.stringify(schema).includes('a40')
      ? schema
      : { ...schema, $defs: doubling['$defs'] as JsonObject };
  expect(excessiveWork(closedSchema(whole), value)).toBe(reason);
});

test('a value that nests too deep is refused', () => {
  expect(excessiveWork({}, nested(2_000, ''))).toBe('it is nested more than 1000 levels deep');
});

test('large values, recursive schemas and wide unions of ordinary size are checked', () => {
  const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, name: 'x', tags: ['a'] }));
  const row = {
    type: 'object',
    required: ['id'],
    properties: {
      id: { type: 'integer' },
      name: { type: ['string', 'null'] },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    },
  };
  expect(
    excessiveWork(closedSchema({ items: { $ref: '#/$defs/row' }, $defs: { row } }), rows),
  ).toBeUndefined();
  const tree = closedSchema({ properties: { left: { $ref: '#' }, right: { $ref: '#' } } });
  expect(excessiveWork(tree, nested(500, 'left'))).toBeUndefined();
  const kinds = Array.from({ length: 100 }, (_, at) => ({ properties: { kind: { const: at } } }));
  expect(excessiveWork({ items: { oneOf: kinds } }, [{ kind: 1 }, { kind: 99 }])).toBeUndefined();
});
