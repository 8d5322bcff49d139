import { expect, test } from 'vitest';
import type { JsonObject } from '../protocol/index.ts';
import { closedSchema } from './schema-patterns.ts';

const evil = { type: 'string', pattern: '^(a+)+$' };

test.each([
  ['examples', '#/examples/0', { examples: [evil] }],
  ['default', '#/default', { default: evil }],
  ['const', '#/properties/y/const', { properties: { y: { const: evil } } }],
  ['enum', '#/properties/y/enum/0', { properties: { y: { enum: [evil] } } }],
  ['a keyword that nobody knows', '#/x-shape', { 'x-shape': evil }],
  ['the names of properties', '#/properties', { properties: { pattern: evil } }],
  ['the names of patterns', '#/patternProperties', { patternProperties: { pattern: evil } }],
  [
    'a keyword inside the names of properties',
    '#/propertyNames/const',
    { propertyNames: { const: evil } },
  ],
  ['another document', 'https://example.com/shape', {}],
  ['a shape of the validator', 'http://json-schema.org/draft-07/schema#', {}],
  ['nothing', '#/$defs/none', {}],
  ['what is inherited by objects', '#/constructor', {}],
  ['an invalid pointer', '#/%', {}],
])('a reference to %s is refused', (_, $ref, rest) => {
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    expect(() => closedSchema({ ...rest, allOf: [{ [keyword]: $ref }] })).toThrow(
      `the JSON Schema can not be used: ${keyword} "${$ref}" does not resolve to a schema in this document; define it under $defs`,
    );
  }
});

test('references lead where they led, and their targets have no patterns', () => {
  const code = { type: 'string', minLength: 2 };
  const closed = closedSchema({
    $id: 'https://example.com/order',
    $async: true,
    properties: {
      pointer: { $ref: '#/$defs/a~1b%20c' },
      anchor: { $ref: '#code' },
      id: { $ref: 'urn:code#/$defs/inner' },
      again: { $ref: 'https://example.com/order' },
      matched: { $ref: '#/patternProperties/x' },
      never: { $ref: '#/$defs/never' },
    },
    patternProperties: { x: { ...code, pattern: '^x' } },
    $defs: {
      'a/b c': { ...code, pattern: '^y' },
      code: { $anchor: 'code', ...code },
      other: { $id: 'urn:code', $defs: { inner: { items: { $ref: '#' } } } },
      never: false,
      unused: { type: 'number' },
    },
    examples: [{ $id: '#/$defs/r1', ...evil }],
  });
  expect(closed).toEqual({
    properties: {
      pointer: { $ref: '#/$defs/r1' },
      anchor: { $ref: '#/$defs/r2' },
      id: { $ref: '#/$defs/r3' },
      again: { $ref: '#' },
      matched: { $ref: '#/$defs/r4' },
      never: { allOf: [false] },
    },
    $defs: { r1: code, r2: code, r3: { items: { $ref: '#/$defs/r5' } }, r4: code, r5: {} },
  });
});

test('a schema that is referred to stands in one place, however deep they nest', () => {
  const levels = 200;
  let nested: JsonObject = {};
  let pointer = '#';
  const all = [];
  for (let level = 0; level < levels; level += 1) {
    nested = { properties: { x: nested } };
    pointer += '/properties/x';
    all.push({ $ref: pointer });
  }
  const size = JSON.stringify(closedSchema({ ...nested, oneOf: all })).length;
  expect(size).toBeLessThan(levels * 200);
});

test('schemas that nest without end are refused', () => {
  let nested = {};
  for (let level = 0; level < 2_000; level += 1) nested = { not: nested };
  expect(() => closedSchema(nested)).toThrow('nested more than 500 levels deep');
});

test('schemas with too many parts are refused before a validator compiles them', () => {
  expect(() => closedSchema({ anyOf: Array.from({ length: 5_000 }, () => ({})) })).toThrow(
    'it has more than 5000 parts',
  );
});

test('resolving a reference does not read all definitions', () => {
  let listings = 0;
  const names = Array.from({ length: 100 }, (_, index) => `d${index}`);
  const $defs = new Proxy(
    Object.fromEntries(names.map((name): [string, JsonObject] => [name, { type: 'string' }])),
    {
      ownKeys(target) {
        listings += 1;
        return Reflect.ownKeys(target);
      },
    },
  );
  closedSchema({ $defs, allOf: names.map((name) => ({ $ref: `#/$defs/${name}` })) });
  expect(listings).toBeLessThan(5);
});
