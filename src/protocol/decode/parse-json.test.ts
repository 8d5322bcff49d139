import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LegateError } from '../errors.ts';
import { parseJson } from './parse-json.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('JSON as deep as the bound is read, and one level more is a parse error', () => {
  expect(parseJson(nested(64))).toBeDefined();
  expect(() => parseJson(nested(65))).toThrow(
    expect.objectContaining({ code: 'PARSE_ERROR', message: expect.stringContaining('64') }),
  );
  expect(parseJson(nested(3), { maxDepth: 3 })).toEqual([[[]]]);
  expect(() => parseJson('{"a":{"b":{"c":[]}}}', { maxDepth: 3 })).toThrow(LegateError);
});

test('brackets inside strings do not count as depth', () => {
  const tricky = `{"a":"${'['.repeat(500)}","b\\"[[":"\\\\","c":["\\\\\\"{{{"]}`;
  expect(parseJson(tricky, { maxDepth: 2 })).toEqual(JSON.parse(tricky));
});

test('a million open brackets are refused without a crash', () => {
  expect(() => parseJson('['.repeat(1_000_000))).toThrow(LegateError);
});

test.each(['', '{', '{"a":}', 'undefined', '{"a":1}x', '"\\x"', '[1,]'])(
  'bad JSON %j is a parse error',
  (text) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'PARSE_ERROR' }));
  },
);

test.each([
  '{"__proto__":{"polluted":true},"a":1}',
  '{"\\u005f_proto__":{"polluted":true},"a":1}',
  '{"__pro\\u0074o__":{"polluted":true},"a":1}',
])('members named __proto__ are dropped: %s', (text) => {
  const value = parseJson(`[{"in":${text}}]`);
  expect(value).toEqual([{ in: { a: 1 } }]);
  const copy = Object.assign({}, (value as { in: object }[])[0]?.in);
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('agrees with JSON.parse on all JSON within the depth', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      fc.pre(!text.includes('__proto__'));
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

const characters = '{}[]":,\\u0 truefalsnx1'.split('');

test('throws nothing but parse errors, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...characters) }), (text) => {
      try {
        parseJson(text, { maxDepth: 4 });
      } catch (error) {
        expect(error).toBeInstanceOf(LegateError);
        expect((error as LegateError).code).toBe('PARSE_ERROR');
      }
    }),
    { numRuns: 500 },
  );
});
