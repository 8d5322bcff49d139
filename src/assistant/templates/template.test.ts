import { TextError } from '../../config/index.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TemplateScope } from './rendering.ts';
import { compileTemplate, evaluateExpression } from './template.ts';
import { KeyedList } from './value.ts';

const scope: TemplateScope = {
  slots: { name: 'ann lee', amount: 12.5, empty: null, tags: ['b', 'a', 'B'], ok: true },
  context: { reason: 'late', info: { max_characters: 420 } },
  rows: [
    { name: 'one', price: 3, sold: true },
    { name: 'two', price: 1, sold: false },
  ],
};

function render(text: string): string {
  return compileTemplate(text).render(scope);
}

test.each([
  ['plain', 'plain'],
  ['{{ slots.name }}', 'ann lee'],
  ['{{slots["name"]}} {{ rows[0].name }} {{ rows[-1].name }}', 'ann lee one two'],
  ['{{ slots.empty }} {{ slots.ok }} {{ missing }}|', 'None True |'],
  ['{{ slots.tags }} {{ {"a": [1, none]} }}', "['b', 'a', 'B'] {'a': [1, None]}"],
  ['{{ context.info.max_characters }}', '420'],
  ['{{ missing.deeper.still }}', ''],
  ['{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ -(2) }}', '7 3 2 3.5 -2'],
  ['{{ "a" ~ 1 ~ none }}', 'a1None'],
  ['{{ "x" if slots.ok else "y" }}{{ "x" if not slots.ok }}', 'x'],
  ['{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ "1" == 1 }} {{ 1 != 2 }}', 'True False False True'],
  ['{{ "a" in slots.tags and "z" not in slots.tags }}', 'True'],
  ['{{ "nn" in slots.name or missing }}', 'True'],
  [
    '{{ missing is defined }} {{ slots.empty is none }} {{ 4 is divisibleby 2 }}',
    'False True True',
  ],
  ['{{ slots.amount is not string }}', 'True'],
  ['{{ slots.name[:3] }} {{ slots.tags[1:] | join("") }}', 'ann aB'],
  ["{{ 'it''s' }} {{ '}}' }} {{ \"a\\nb\" }}", 'its }} a\nb'],
])('%s renders as %j', (text, expected) => {
  expect(render(text)).toBe(expected);
});

test.each([
  ['{{ missing | default("none") }} {{ "" | default("x", true) }} {{ 0 | d(5) }}', 'none x 0'],
  [
    '{{ "Ab" | lower }} {{ "Ab" | upper }} {{ slots.name | title }} {{ "aB" | capitalize }}',
    'ab AB Ann Lee Ab',
  ],
  [
    '{{ "  x " | trim }} {{ [1, 2] | join(", ") }} {{ rows | join("+", attribute="name") }}',
    'x 1, 2 one+two',
  ],
  ['{{ "abc" | length }} {{ rows | count }} {{ [1, 2] | first }} {{ [1, 2] | last }}', '3 2 1 2'],
  ['{{ "a-b-c" | replace("-", "+") }} {{ "a-b-c" | replace("-", "", 1) }}', 'a+b+c ab-c'],
  [
    '{{ 2.675 | round(2) }} {{ 1.5 | round }} {{ 1.2 | round(0, "ceil") }} {{ -1.5 | round }}',
    '2.67 2 2 -2',
  ],
  ['{{ "42x" | int(7) }} {{ "42" | int }} {{ "1.5" | float }} {{ -3 | abs }}', '7 42 1.5 3'],
  ['{{ (-3) | abs }} {{ rows[0] | tojson }}', '3 {"name": "one", "price": 3, "sold": true}'],
  [
    '{{ slots.tags | sort | join }} {{ slots.tags | unique | join }} {{ "ba" | list | sort }}',
    "abB ba ['a', 'b']",
  ],
  ['{{ rows | sort(attribute="price") | map(attribute="name") | join(" ") }}', 'two one'],
  ['{{ rows | selectattr("sold") | map(attribute="price") | sum }}', '3'],
  ['{{ rows | rejectattr("price", "gt", 2) | map(attribute="name") | first }}', 'two'],
  ['{{ "%.2f of %05d %s%%" | format(1.005, 42, "x") }}', '1.00 of 00042 x%'],
  ['{{ [3, 1, 2] | max }} {{ [3, 1, 2] | min }} {{ "abc" | reverse }}', '3 1 cba'],
  [
    '{{ slots.name.upper() }} {{ "a b".split() | length }} {{ {"a": 1}.get("b", 2) }}',
    'ANN LEE 2 2',
  ],
])('filters: %s renders as %j', (text, expected) => {
  expect(render(text)).toBe(expected);
});

test.each([
  ['{% if slots.amount > 20 %}big{% elif slots.ok %}ok{% else %}no{% endif %}', 'ok'],
  [
    '{% for row in rows %}{{ loop.index }}{{ row.name }}{% if not loop.last %}, {% endif %}{% endfor %}',
    '1one, 2two',
  ],
  ['{% for k, v in {"a": 1, "b": 2}.items() %}{{ k }}={{ v }};{% endfor %}', 'a=1;b=2;'],
  ['{% for row in rows if row.sold %}{{ row.name }}{% else %}none{% endfor %}', 'one'],
  ['{% for x in [] %}{{ x }}{% else %}none{% endfor %}', 'none'],
  ['{% set n = 2 %}{{ n + 1 }}{% set b %}<{{ n }}>{% endset %}{{ b }}', '3<2>'],
  ['{% set n = 1 %}{% for x in [1] %}{% set n = 2 %}{% endfor %}{{ n }}', '1'],
  ['a  {#- gone -#}  b', 'ab'],
  ['a\n{%- if true -%}\n b \n{%- endif %}\nc\n', 'ab\nc'],
  ['{% raw %}{{ kept }}{% endraw %}', '{{ kept }}'],
])('statements: %s renders as %j', (text, expected) => {
  expect(render(text)).toBe(expected);
});

test.each([
  ['a\n {{ }}', 2, 5, 'expected a value, found the end'],
  ['{{ x', 1, 3, 'missing the closing }}'],
  ['{{ "x }}', 1, 4, 'this text has no closing quote'],
  ['{% if a %}x', 1, 1, 'this block has no {% endif %}'],
  ['{% endif %}', 1, 1, '{% endif %} without its beginning'],
  [
    '{% include "x" %}',
    1,
    1,
    '{% include %} is not supported; there are if, for, set, macro, call, filter, with and raw',
  ],
  ['{{ a b }}', 1, 6, "unexpected 'b'"],
  ['a\n{{ f(1) }}', 2, 4, 'no macro named f; only macros and the methods of values can be called'],
  ['{{ (1)(2) }}', 1, 7, 'only macros and the methods of values can be called'],
  ['a\n{{ 1 | nothing }}', 2, 8, 'no filter named nothing'],
  ['{{ 1 is nothing }}', 1, 9, 'no test named nothing'],
  ['{{ "a".constructor() }}', 1, 8, 'no method named constructor'],
  ['{{ 1 ? 2 }}', 1, 6, "unexpected character '?'"],
])('%j is refused at line %i, column %i', (text, line, column, reason) => {
  expect(() => compileTemplate(text)).toThrow(
    new TextError(
      text,
      text
        .split('\n')
        .slice(0, line - 1)
        .join('\n').length +
        (line > 1 ? 1 : 0) +
        column -
        1,
      reason,
    ),
  );
});

test.each([
  ['{{ 1 / 0 }}', 'division by zero'],
  ['{{ "a" - 3 }}', 'expected a number, found a'],
  ['{% set a.b = 1 %}', 'a is not a namespace'],
  ['{{ "x".strftime("%Y") }}', 'strftime needs a date such as 2026-11-15T10:00'],
  ['{% if true %}a{% else %}{% macro m() %}{% endmacro %}{% endif %}{{ m() }}', 'the macro m'],
])('%j fails while rendering: %s', (text, reason) => {
  expect(() => render(text)).toThrow(reason);
});

test('nothing of JavaScript itself can be reached', () => {
  const hostile = [
    '{{ slots.__proto__ }}',
    '{{ slots.constructor }}',
    '{{ slots["const" ~ "ructor"] }}',
    '{{ toString }}{{ hasOwnProperty }}',
    '{{ "x".length }}{{ [].concat }}',
    '{{ [slots] | map(attribute="constructor.name") | first | default("", true) }}',
  ];
  for (const text of hostile) expect(render(text).replace('None', '')).toBe('');
});

test('a template cannot use more than its limits', () => {
  const many = `{% for a in x %}${'{% for b in x %}'.repeat(3)}{% set y = 1 %}${'{% endfor %}'.repeat(3)}{% endfor %}`;
  const x = Array.from({ length: 100 }, (_, at) => at);
  expect(() => compileTemplate(many).render({ x })).toThrow('the loops never end');
  expect(() =>
    compileTemplate('{% for a in x %}{{ t }}{% endfor %}').render({ x, t: 'y'.repeat(20_000) }),
  ).toThrow('the result is too long');
  expect(() =>
    compileTemplate('{{ t | replace("y", t) }}').render({ t: 'y'.repeat(20_000) }),
  ).toThrow('too long');
  expect(() => compileTemplate(`{{ ${'('.repeat(500)}1${')'.repeat(500)} }}`)).toThrow(
    'nested too deeply',
  );
  expect(() => compileTemplate(`{{ 1${' + 1'.repeat(5_000)} }}`)).toThrow('too long');
  expect(() => compileTemplate('{% if 1 %}'.repeat(5_000))).toThrow('nested too deeply');
});

test.each([
  ['{% for a in x %}{% set y = t | upper %}{% endfor %}', 'does too much'],
  ['{% for a in x %}{% set y = t ~ a %}{% endfor %}', 'does too much'],
  ['{{ range(1000000000) | length }}', 'does too much'],
  ['{{ "ab" * 1000000000 }}', 'does too much'],
  ['{{ [t] * 1000000000 }}', 'does too much'],
  ['{{ ([t] * 1000) | map("replace", "y", t) | list | length }}', 'does too much'],
  ['{{ "x" | center(1000000000) }}', 'does too much'],
  [
    '{% for a in x %}{% set y = "%999s%999s%999s" | format(1, 2, 3) %}{% endfor %}',
    'does too much',
  ],
  ['{{ t | indent(1000000, true) | length }}', 'does too much'],
  [`{% set l = [1] %}${'{% set l = [l, l] %}'.repeat(40)}{{ l }}`, 'does too much'],
  [`{% set l = [1] %}${'{% set l = [l, l] %}'.repeat(40)}{{ l | tojson }}`, 'does too much'],
  [`{% set l = [1] %}${'{% set l = [l, l] %}'.repeat(40)}{{ l == [l] }}`, 'does too much'],
  ['{{ x | select("in", x) | list | length }}', 'does too much'],
  ['{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}', 'the macros call each other too deeply'],
  ['{% set l = [] %}{% for a in x %}{% set _ = l.append(l) %}{% endfor %}{{ l }}', 'does too much'],
])('%s is stopped: %s', (text, reason) => {
  const values = { x: Array.from({ length: 99_999 }, (_, at) => at), t: 'y\n'.repeat(100_000) };
  expect(() => compileTemplate(text).render(values)).toThrow(reason);
});

test('the indentation of tojson is charged before the text is created', () => {
  const nested = `{% set l = range(1000) | list %}${'{% set l = [l] %}'.repeat(300)}`;
  expect(() => compileTemplate(`${nested}{{ l | tojson(indent=8) }}`).render({})).toThrow(
    'does too much',
  );
  expect(compileTemplate(`${nested}{{ l | tojson }}`).render({})).toContain('[[0, 1, 2');
});

test('lists of the caller are not changed by append', () => {
  const list = ['a'];
  const template = compileTemplate('{% set _ = list.append("b") %}{{ list }} {{ _ }}');
  expect(template.render({ list })).toBe("['a', 'b'] None");
  expect(list).toEqual(['a']);
});

test.each([
  [
    'Sunday, 15 November 2026, 09:05 (UTC)',
    'Sun 15 November 2026 09:05:00 09 AM UTC 319 15/11/26 9',
  ],
  ['2026-11-01T13:05:07Z', 'Sun 01 November 2026 13:05:07 01 PM UTC 305 01/11/26 13'],
])('strftime writes %s as Python does', (now, expected) => {
  const text = '{{ now.strftime("%a %d %B %Y %H:%M:%S %I %p %Z %j %d/%m/%y %-H") }}';
  expect(compileTemplate(text).render({ now })).toBe(expected);
});

test('an expression answers the value itself', () => {
  const result = {
    structuredContent: { items: [{ id: 7 }, { id: 8 }], ok: true },
    content: [{ type: 'text', text: 'hi' }],
  };
  expect(evaluateExpression('result.structuredContent.items', { result })).toEqual([
    { id: 7 },
    { id: 8 },
  ]);
  expect(evaluateExpression('result.structuredContent.items | length', { result })).toBe(2);
  expect(evaluateExpression('result.content.0.text', { result })).toBe('hi');
  expect(evaluateExpression('"yes" if result.structuredContent.ok else "no"', { result })).toBe(
    'yes',
  );
  expect(evaluateExpression('result.missing', { result })).toBeUndefined();
  expect(() => evaluateExpression('result.', { result })).toThrow(
    'column 8: expected a name after the dot',
  );
});

test('the paths that a template reads are known', () => {
  const { references } = compileTemplate(
    '{% set a = slots.x %}{{ a }} {% for r in context.rows %}{{ r.name }} {{ loop.index }}{% endfor %}{{ b | default(slots["y"]) }}',
  );
  expect(references).toEqual(['slots.x', 'context.rows', 'b', 'slots.y']);
  const { references: ofMacros } = compileTemplate(
    '{% macro m(a, b=slots.x) %}{{ a }}{{ c.d }}{% endmacro %}{{ m(slots.y) }}{% filter upper %}{{ e }}{% endfilter %}',
  );
  expect(ofMacros).toEqual(['slots.x', 'c.d', 'slots.y', 'e']);
});

test('whatever the text, compiling and rendering fail with a TextError or not at all', () => {
  const piece = fc.constantFrom(
    '{{',
    '}}',
    '{%',
    '%}',
    '{#',
    '#}',
    '-',
    'if',
    'for',
    'x',
    'in',
    'endif',
    'endfor',
    'set',
    '=',
    '"',
    "'",
    '|',
    'default',
    '(',
    ')',
    '[',
    ']',
    '.',
    '1',
    ' ',
    '\n',
    'not',
    'is',
    '{',
    '}',
    'é',
    ':',
    ',',
    '~',
    'raw',
    'endraw',
    'macro',
    'endmacro',
    'call',
    'endcall',
    'filter',
    'endfilter',
    'upper',
    'with',
    'endwith',
    'namespace',
    'append',
    '*',
    '%',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
      try {
        compileTemplate(pieces.join('')).render({ x: [1, 'a'] });
      } catch (error) {
        expect(error).toBeInstanceOf(TextError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['now.tzname()', 'UTC'],
  ['now.year', '2026'],
  ['now.hour + 1', '11'],
  ['now.date()', '2026-11-15'],
  ['now.time()', '10:00:00'],
  ['now.weekday()', '6'],
  ['now.isoweekday()', '7'],
  ['now.isoformat()', '2026-11-15T10:00:00+00:00'],
  ['"Sunday".year', ''],
])('dates of prompts know %s', (expression, expected) => {
  const now = 'Sunday, 15 November 2026, 10:00 (UTC)';
  expect(compileTemplate(`{{ ${expression} }}`).render({ now })).toBe(expected);
});

test.each([
  ['{% for slot in slots %}{{ slot.name }}={{ slot.value }};{% endfor %}', 'a=1;b=None;'],
  ['{{ slots.a }} {{ slots.b }} {{ slots.c is defined }} {{ slots | length }}', '1 None False 2'],
  ['{% for name, value in slots.items() %}{{ name }}{{ value }}{% endfor %}', 'a1bNone'],
])('slots of prompts are a list, and known by name: %s', (template, expected) => {
  const slots = KeyedList.make([
    { name: 'a', value: 1 },
    { name: 'b', value: null },
  ]);
  expect(compileTemplate(template).render({ slots })).toBe(expected);
});

test.each([
  ["{{ '5'.zfill(4) }}", '0005'],
  ["{{ '-5'.zfill(4) }}", '-005'],
  ["{{ '+5'.zfill(4) }}", '+005'],
  ["{{ '0-5'.zfill(5) }}", '000-5'],
  ["{{ '-12345'.zfill(4) }}", '-12345'],
  ["{{ ''.zfill(2) }}", '00'],
])('zfill puts zeros after the sign: %s', (text, expected) => {
  expect(compileTemplate(text).render({})).toBe(expected);
});
