import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from './card-signature.ts';

test('RFC 8785, 3.2.2: literals, texts and numbers as ECMAScript writes them', () => {
  const value: unknown = JSON.parse(String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`);
  expect(canonicalJson(value)).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('RFC 8785, 3.2.3: names are sorted by UTF-16 code units', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  const names = Object.keys(JSON.parse(canonicalJson(value)) as object);
  // Integer-like names come first in ECMAScript objects: compare the text.
  expect(names).toHaveLength(7);
  const text = canonicalJson(value);
  const order = ['Carriage', 'One', 'Control', 'Latin', 'Euro', 'Emoji', 'Hebrew'];
  expect(order.map((word) => text.indexOf(word))).toEqual(
    order.map((word) => text.indexOf(word)).sort((a, b) => a - b),
  );
});

test.each([
  [0, '0'],
  [-0, '0'],
  [5e-324, '5e-324'],
  [1.7976931348623157e308, '1.7976931348623157e+308'],
  [9007199254740992, '9007199254740992'],
  [295147905179352830000, '295147905179352830000'],
  [1e21, '1e+21'],
  [9.999999999999997e22, '9.999999999999997e+22'],
  [0.000001, '0.000001'],
  [1e-7, '1e-7'],
  [333333333.3333332, '333333333.3333332'],
])('RFC 8785, appendix B: %d is written %s', (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test('members that are undefined are absent', () => {
  expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
});

test.each([
  ['NaN', { a: Number.NaN }],
  ['Infinity', [Number.POSITIVE_INFINITY]],
  ['a lone surrogate', '\ud800'],
  ['a lone surrogate in a name', { '\udc00': 1 }],
  ['undefined in a list', [undefined]],
  ['a bigint', 1n],
])('%s cannot be expressed', (_what, value) => {
  expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMS' }));
});

test('nesting is bounded', () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 200; depth += 1) value = [value];
  expect(() => canonicalJson(value)).toThrow('nested deeper');
});

test('a name like __proto__ is a name like any other', () => {
  expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}');
});

test('the form says the same as the value, and does not depend on the order of members', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const isWellFormed = JSON.stringify(value) === JSON.stringify(value).toWellFormed();
      fc.pre(isWellFormed && !/\\ud[89a-f]/i.test(JSON.stringify(value)));
      const text = canonicalJson(value);
      // -0 is 0 on the wire.
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(reversed(value))).toBe(text);
    }),
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(entries.reverse());
}
