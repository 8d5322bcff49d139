import { TextError } from '../../config/index.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../protocol/index.ts';
import type { Slot } from '../model.ts';
import { compileCondition, type ConditionScope } from './condition.ts';

const categorical: Slot = {
  name: 'method',
  type: 'categorical',
  values: ['Card', 'Cash'],
  initialValue: null,
  mappings: [],
  builtin: false,
};

const scope: ConditionScope = {
  slots: {
    amount: 50,
    zero: 0,
    text: 'Hello World',
    blank: '',
    yes: true,
    no: false,
    none: null,
    list: ['a', 1],
    person: { name: 'ann', age: 30, tags: [] },
    method: 'Card',
    spoken: 'True',
    '3d': 'x',
  },
  context: { reason: 'late', info: { count: 2 } },
  domain: { slots: new Map([['method', categorical]]) },
};

function holds(condition: string): boolean {
  return compileCondition(condition).evaluate(scope);
}

test.each([
  // truthiness of a bare identifier
  ['slots.yes', true],
  ['slots.no', false],
  ['slots.zero', false],
  ['slots.blank', false],
  ['slots.none', false],
  ['slots.unknown', false],
  ['slots.list', true],
  ['unprefixed', false],
  // a slot without its prefix, as in Rasa 3.7
  ['amount > 49 and not no', true],
  ['method = "card"', true],
  ['person.age = 30', true],
  ['true', true],
  ['FALSE', false],
  ['not slots.none', true],
  ['NOT NOT slots.yes', true],
  // equality
  ['slots.amount = 50', true],
  ['slots.amount == 50.0', true],
  ['slots.amount is 50', true],
  ['slots.amount != 50', false],
  ['slots.amount IS NOT 51', true],
  ['slots.amount = "50"', false],
  ['slots.yes = true', true],
  // a text slot that a model or a button filled
  ['slots.spoken = true', true],
  ['slots.spoken is not true', false],
  ['false = slots.spoken', false],
  ['slots.text = true', false],
  ['slots.spoken = null', false],
  ['slots.zero = false', false],
  ['slots.yes is True', true],
  ['slots.zero = false', false],
  ["slots.text = 'Hello World'", true],
  ['slots.text = "hello world"', false],
  ['"it\\"s" = \'it"s\'', true],
  // null, undefined and empty
  ['slots.none is null', true],
  ['slots.none is undefined', false],
  ['slots.unknown is undefined', true],
  ['slots.unknown is null', false],
  ['slots.unknown is empty', true],
  ['slots.none is empty', false],
  ['slots.blank is empty', true],
  ['slots.person.tags = empty', true],
  ['slots.list is not empty', true],
  ['slots.zero is empty', false],
  ['slots.no is null', false],
  ['slots.amount is not null', true],
  // order
  ['slots.amount > 49.5', true],
  ['slots.amount >= 50 and slots.amount <= 50', true],
  ['slots.amount < -1', false],
  ['slots.none < 5', false],
  ['slots.none >= 0', false],
  ['5 > slots.unknown', false],
  ['slots.text > 3', false],
  ['"a" < "b"', true],
  // contains
  ['slots.text contains "lo W"', true],
  ['slots.text contains "world"', false],
  ['slots.list contains 1', true],
  ['slots.list contains "1"', false],
  ["{ 'x' 50 } contains slots.amount", true],
  ['{ 1 2 -3.5 } contains 4', false],
  ['slots.person contains "name"', true],
  ['slots.amount contains 5', false],
  // matches searches, unanchored
  ['slots.text matches "lo\\s"', true],
  ["slots.text matches '^hello'", false],
  ["slots.text matches '(?i)^hello'", true],
  ['slots.text matches /^hello/i', true],
  ['slots.text matches /^HELLO world$/IS', true],
  ['slots.text matches /a\\/b/', false],
  ['slots.amount matches "5"', false],
  ['slots.text matches "\\AHello(?P<rest>.*)\\Z"', true],
  // precedence: and/or equal and to the right, not tighter, comparisons tightest
  ['slots.no and slots.yes or slots.yes', false],
  ['(slots.no and slots.yes) or slots.yes', true],
  ['slots.yes or slots.no and slots.no', true],
  ['not slots.no and slots.yes', true],
  ['not slots.amount = 51', true],
  ['not (slots.yes and slots.no)', true],
  // structure, context, comments
  ['slots.person.age > 29 and slots.person.name = "ann"', true],
  ['context.reason = "late"', true],
  ['context.info.count is 2', true],
  ['context.missing is undefined', true],
  ['slots.yes # and slots.no\n and slots.amount > 1', true],
  ['(slots.amount) = 50', true],
  // categorical values, whatever their case
  ['slots.method = "card"', true],
  ['slots.method is not "CARD"', false],
  ['{ "cash" "card" } contains slots.method', true],
])('%s is %s', (condition, expected) => {
  expect(holds(condition)).toBe(expected);
});

test.each([
  ['', 0, 'the condition is empty'],
  ['   # only a comment', 19, 'the condition is empty'],
  ['slots.a =', 9, 'expected a value, found the end'],
  ['slots.a slots.b', 8, "expected and, or or the end, found 'slots.b'"],
  ['slots.a and', 11, 'expected a value, found the end'],
  ['(slots.a', 8, 'expected ), found the end'],
  ["slots.a = 'x", 10, 'this text has no closing quote'],
  ['slots.a && slots.b', 8, "unexpected '&'; write and"],
  ['!slots.a', 0, "unexpected '!'; write not, or !="],
  ["{'a', 'b'} contains slots.x", 4, "unexpected ','; the items of a set are separated by spaces"],
  ['{ 1 2', 0, 'this set has no closing }'],
  ['1 < slots.x < 3', 12, 'comparisons cannot be chained; join two of them with and'],
  ['slots.x = /a/', 10, 'a pattern is allowed only after matches'],
  ['slots.x matches null', 16, 'matches needs a pattern or a text'],
  ['slots.x + 1', 8, "unexpected character '+'"],
  ['3a = 1', 0, "unexpected character '3'"],
])('%j is refused at %i', (condition, offset, reason) => {
  expect(() => compileCondition(condition)).toThrow(
    new TextError(condition, offset, reason, { what: 'condition' }),
  );
});

test.each([
  ["slots.x matches '(a'", 16, 'invalid regular expression: missing closing ): `(a`'],
  ['slots.x matches /a/q', 16, 'unknown flag "q"'],
  ['slots.y = 1 or slots.x matches /^(?!a)/', 31, 'lookahead and lookbehind are not supported'],
  ['not slots.x matches "(a)\\1"', 20, 'backreferences are not supported'],
])('%j is false as a whole, with the place of the pattern', (condition, offset, reason) => {
  const compiled = compileCondition(condition);
  expect(compiled.unsupported).toMatchObject([{ offset, reason }]);
  expect(compiled.evaluate({ slots: { x: 'b', y: 1 } })).toBe(false);
});

test('a pattern in a slot that is not a pattern matches nothing', () => {
  const reports: string[] = [];
  const trouble = (reason: string) => reports.push(reason);
  const slots = { x: 'a', pattern: '(?=a)' };
  expect(compileCondition('slots.x matches slots.pattern').evaluate({ slots, trouble })).toBe(
    false,
  );
  expect(reports).toEqual(['lookahead and lookbehind are not supported']);
});

test('mixing and with or without parentheses is a warning', () => {
  expect(compileCondition('slots.a and slots.b or slots.c').warnings).toEqual([
    { offset: 20, message: expect.stringContaining('write parentheses') as string },
  ]);
  expect(compileCondition('slots.a and (slots.b or slots.c)').warnings).toEqual([]);
  expect(compileCondition('slots.a or slots.b or slots.c').warnings).toEqual([]);
});

test('None, as Python writes it, is null, with a warning', () => {
  const condition = compileCondition('slots.name is not None');
  expect(condition.warnings).toEqual([
    { offset: 18, message: '"None" is read as null; write null' },
  ]);
  expect(condition.evaluate({ slots: { name: null } })).toBe(false);
  expect(condition.evaluate({ slots: { name: 'Ada' } })).toBe(true);
});

test('what a condition names is known', () => {
  const { references } = compileCondition(
    'slots.a = "x" and (context.b or { 1 2 } contains slots.c) and bare and slots.d.e is null',
  );
  expect(references).toEqual({
    slots: ['a', 'c', 'd'],
    context: ['b'],
    unprefixed: [{ name: 'bare', offset: 62 }],
    comparisons: [
      { slot: 'a', operator: '=', literal: 'x', offset: 10 },
      { slot: 'c', operator: 'contains', literal: 1, offset: 34 },
      { slot: 'c', operator: 'contains', literal: 2, offset: 36 },
    ],
  });
});

test('context values are part of names', () => {
  const condition = compileCondition('slots.{{context.collect}} is not null');
  expect(condition.references).toMatchObject({ slots: [], context: ['collect'] });
  const slots = { amount: 5, name: null };
  expect(condition.evaluate({ slots, context: { collect: 'amount' } })).toBe(true);
  expect(condition.evaluate({ slots, context: { collect: 'name' } })).toBe(false);
});

test('mistakes around rendered values have their true places', () => {
  const text = 'slots.{{context.collect}} is not nul and and';
  expect(() => compileCondition(text)).toThrow(
    new TextError(text, 41, "expected a value, found 'and'", { what: 'condition' }),
  );
  const { references } = compileCondition('slots.{{context.collect}} is nul');
  expect(references.unprefixed).toEqual([{ name: 'nul', offset: 29 }]);
});

test('what was rendered is not rendered again', () => {
  const condition = compileCondition('"{{context.text}}" = "{{ 1 + 1 }}"');
  expect(condition.evaluate({ slots: {}, context: { text: '2' } })).toBe(true);
  const nested = compileCondition('"{{context.text}}" contains "1 + 1"');
  expect(nested.evaluate({ slots: {}, context: { text: '{{ 1 + 1 }}' } })).toBe(true);
});

test.each(['x" or true or "', "x' or true or '", '"', '\\', '/ or true', 'x # "', '1234" or "'])(
  'the value %j cannot change the condition that contains it',
  (code) => {
    for (const quote of ['"', "'"]) {
      const text = `${quote}{{slots.code}}${quote}`;
      const slots = { code };
      expect(compileCondition(`${text} = "1234"`).evaluate({ slots })).toBe(false);
      expect(compileCondition(`${text} = slots.code`).evaluate({ slots })).toBe(true);
    }
    const slots = { code, x: null };
    for (const text of [
      '{{slots.code}} = 1234',
      'slots.{{slots.code}}',
      '"a" matches /^{{slots.code}}$/',
    ])
      expect(compileCondition(text).evaluate({ slots })).toBe(false);
  },
);

test.each([
  ['{{context.count}} > 3', true],
  ['{{ context.count + 1 }} = 6', true],
  ['{{context.flag}}', false],
  ['{{context.none}} is null', true],
  ['{{context.digits}} > 4', true],
  ['{{context.digits}} = 5', true],
  ['{{context.yes}}', true],
  ['{{context.missing}} is undefined', true],
  ['{{context.tags}} contains "a"', true],
  ['{{context.name}} = "pin"', true],
  ['"{{- context.name, context.count -}}" contains "pin"', true],
  // A value never names a slot.
  ['{{context.name}} = 1', false],
  ['slots.{{context.name}} = 1', true],
  ['slots.{{context.half}}{{context.other}} = 1', true],
  ['"{{context.half}}-{{context.other}}" = "p-in"', true],
  ['"pins" matches /^{{context.name}}S$/i', true],
  ['"ann" matches /^{{context.open}}/', false],
])('%s is %s', (condition, expected) => {
  const context = {
    count: 5,
    flag: false,
    none: null,
    digits: '5',
    yes: 'True',
    tags: ['a'],
    name: 'pin',
    half: 'p',
    other: 'in',
    open: '(',
  };
  expect(compileCondition(condition).evaluate({ slots: { pin: 1 }, context })).toBe(expected);
});

test('an expression that fails is a TextError', () => {
  const condition = compileCondition('slots.x = {{ context.x.strftime("%Y") }}');
  expect(() => condition.evaluate({ slots: {}, context: { x: 'never' } })).toThrow(TextError);
});

test('comparing what has no order is false and is reported', () => {
  const reports: string[] = [];
  const trouble = (reason: string) => reports.push(reason);
  expect(compileCondition('slots.x > 3').evaluate({ slots: { x: null }, trouble })).toBe(false);
  expect(reports).toEqual(['cannot compare None > a number']);
});

test('a pattern with endless ways to match gets to its end', () => {
  const reports: string[] = [];
  const trouble = (reason: string) => reports.push(reason);
  const condition = compileCondition('slots.x matches "^(a+)+$"');
  expect(condition.evaluate({ slots: { x: `${'a'.repeat(60)}b` }, trouble })).toBe(false);
  expect(condition.evaluate({ slots: { x: 'a'.repeat(9_000) }, trouble })).toBe(true);
  expect(reports).toEqual([]);
});

test('a pattern with many ways still matches what it should', () => {
  const slots = { x: 'someone.with.a.long@name.example.org' };
  const condition = compileCondition('slots.x matches "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$"');
  expect(condition.evaluate({ slots })).toBe(true);
  expect(condition.evaluate({ slots: { x: 'someone.with.a.long name at example' } })).toBe(false);
});

test('texts beyond the limit match nothing', () => {
  const condition = compileCondition('slots.x matches "a"');
  expect(condition.evaluate({ slots: { x: 'a'.repeat(10_001) } })).toBe(false);
});

test('slots cannot reach into JavaScript', () => {
  expect(holds('slots.constructor is undefined')).toBe(true);
  expect(holds('slots.person.__proto__ is undefined')).toBe(true);
  expect(holds('slots.list.length is undefined')).toBe(true);
});

test('whatever the text, compiling fails with a TextError or not at all, and evaluating never', () => {
  const pieces =
    'slots.a context.b bare and or not is = == != < >= contains matches ( ) { } "x" \' " 3 -1.5 null ' +
    'empty undefined true /a+/i / # \n (?i) \\ \0 é {{ }} . .. slots. $ -';
  const piece = fc.constantFrom(...pieces.split(' '));
  const text = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((all) => all.join(' ')),
    fc.string(),
  );
  const values: Record<string, JsonValue> = { a: 'x' };
  fc.assert(
    fc.property(text, (condition) => {
      try {
        expect(typeof compileCondition(condition).evaluate({ slots: values })).toBe('boolean');
      } catch (error) {
        expect(error).toBeInstanceOf(TextError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('the longest and the deepest conditions are refused or evaluated, never a stack overflow', () => {
  expect(() => holds('('.repeat(4_000))).toThrow('nested too deeply');
  expect(() => holds('not '.repeat(2_000) + 'true')).toThrow('nested too deeply');
  expect(() => holds('true and '.repeat(1_000) + 'true')).toThrow('too many conditions');
  expect(() => holds('a'.repeat(10_001))).toThrow('longer than');
  expect(holds('true and '.repeat(400) + 'true')).toBe(true);
});
