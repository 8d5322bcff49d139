import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { compilePattern, compilePatternInText, PatternError } from './index.ts';

const finds = (source: string, text: string, flags?: string): boolean =>
  compilePattern(source, flags).search(text);

test.each([
  ['^(?P<year>\\d{4})-\\d{2}$', '2026-11'],
  ['^(?<year>\\d{4})-\\d{2}$', '2026-11'],
  ['(?i)^order', 'ORDER 7'],
  ['(?iu)^straße$', 'STRAßE'],
  ['(?a)^\\d$', '7'],
  ['(?u:a)b', 'ab'],
  ['\\Aab\\Z', 'ab'],
  ['^a{,3}$', 'aa'],
  ['^[{,2}]+$', '{,2}'],
  ['^\\u00e9\\u{1F600}$', 'é😀'],
  ['^.$', '😀'],
  ['^[\\w .-]+$', 'José Müller-Lüdenscheidt'],
  ['^\\w+$', '東京'],
  ['^[]a]+$', ']a'],
  ['^[[:alpha:]]+$', 'ab'],
  ['^[(?=]$', '('],
  ['\\\\Z$', 'a\\Z'],
  ['\\/\\-\\@', '/-@'],
])('Python and JavaScript spellings work: %s finds %s', (source, text) => {
  expect(finds(source, text)).toBe(true);
});

test('flags are i, m and s; a, u and l change nothing', () => {
  expect(finds('^b.c$', 'a\nB\nC', 'imsaul')).toBe(true);
  expect(finds('^b', 'a\nb')).toBe(false);
  expect(() => compilePattern('a', 'g')).toThrow('unknown flag "g"; use i, m, s, u or l');
});

test.each([
  ['(?=a)b', 'lookahead and lookbehind are not supported'],
  ['a(?!b)', 'lookahead and lookbehind are not supported'],
  ['(?<=a)b', 'lookahead and lookbehind are not supported'],
  ['(?<!a)b', 'lookahead and lookbehind are not supported'],
  ['(a)\\1', 'backreferences are not supported'],
  ['(?<a>x)\\k<a>', 'backreferences are not supported'],
  ['(?P<a>x)(?P=a)', 'backreferences are not supported'],
  ['a++', 'atomic groups and possessive quantifiers are not supported'],
  ['(?>a)', 'atomic groups and possessive quantifiers are not supported'],
  ['(?x) a', 'verbose patterns, (?x), are not supported'],
  ['(a', 'invalid regular expression: missing closing ): `(a`'],
  ['a{1,2000}', 'invalid regular expression: invalid repeat count: `{1,2000}`'],
  ['a'.repeat(4_001), 'a pattern of 4001 characters is longer than 4000'],
])('%s is refused, with the reason', (source, reason) => {
  expect.assertions(2);
  try {
    compilePattern(source);
  } catch (error) {
    expect(error).toBeInstanceOf(PatternError);
    expect(error).toMatchObject({ reason, code: 'CONFIGURATION_INVALID' });
  }
});

test('an unsupported construct is an error with a fix', () => {
  expect(() => compilePattern('^(?=.*\\d)')).toThrow(
    'patterns run in linear time (RE2): join several conditions with "and" and "not" instead',
  );
});

test('a text that would take too many steps matches nothing, and the reason is told', () => {
  const reasons: string[] = [];
  const trouble = (reason: string) => void reasons.push(reason);
  expect(compilePattern('a').search('a'.repeat(10_001), trouble)).toBe(false);
  expect(compilePattern('(a?){500}').search('a'.repeat(5_000), trouble)).toBe(false);
  expect(reasons).toEqual([
    'a text of 10001 characters is too long for pattern /a/',
    'a text of 5000 characters is too long for pattern /(a?){500}/',
  ]);
});

test.each([
  ['^\\d{5}$', '12345 23456,34567-8 x45678', ['12345', '23456']],
  ['(?i)^[a-z]{2}\\d+$', 'my AB12 and cd34', ['AB12', 'cd34']],
  ['^#\\d+$', '#1 ##2 a#3', ['#1', '#2']],
  ['\\A[A-Z]+\\Z', 'AB, CD', ['AB', 'CD']],
  ['cost \\$', 'the cost $ is', ['cost $']],
  ['^x*$', 'yy', []],
])('values of %s are found in "%s"', (source, text, values) => {
  const found = compilePatternInText(source).find(text);
  expect(found.map(({ value }) => value)).toEqual(values);
  for (const { value, start, end } of found) expect(text.slice(start, end)).toBe(value);
});

test('an error is about the pattern as it is written, not about what is made of it', () => {
  expect(() => compilePatternInText('^(a$')).toThrow('missing closing ): `(a`');
});

/** Patterns of nested and adjacent repetitions, which make backtracking engines take exponential time. */
const hostile = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('a', 'b', '[ab]', '[^b]', '.', 'a?', '(?:a|a)', '(?:a|b|ab)', '\\w'),
    tie('pattern').map((inner) => `(${inner})+`),
    tie('pattern').map((inner) => `(?:${inner})*`),
    tie('pattern').map((inner) => `(${inner}){1,4}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `${left}${right}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(?:${left}|${right})`),
  ),
})).pattern;

test('short texts give the same answers as with RegExp', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', 'é'), maxLength: 8 });
  fc.assert(
    fc.property(hostile, text, (pattern, said) => {
      // \w is Unicode here, as in Python.
      const expected = new RegExp(`^${pattern.replaceAll('\\w', '[\\p{L}_\\p{N}]')}$`, 'u');
      expect(finds(`^${pattern}$`, said)).toBe(expected.test(said));
    }),
    { numRuns: 500 },
  );
});

test('no pattern takes more than linear time, whatever the text', { timeout: 180_000 }, () => {
  const patterns = [
    '([a-z0-9]+-?)+',
    '(a+)+',
    '(a|a)*b',
    '(a*)*b',
    '(.*a){20}',
    '(x+x+)+y',
    ...fc.sample(hostile, { numRuns: 200, seed: 15 }),
  ];
  const script = `
    import { compilePattern, compilePatternInText } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
    let count = 0;
    for (const pattern of ${JSON.stringify(patterns)}) {
      for (const text of ['a'.repeat(4_000) + '!', 'ab'.repeat(2_000) + '!', 'a-'.repeat(2_000) + '!']) {
        for (const source of ['^' + pattern + '$', pattern + 'c$']) {
          compilePattern(source).search(text);
          compilePatternInText(source).find(text);
          count += 1;
        }
      }
    }
    console.log(count);
  `;
  // A backtracking engine would not come back: a process can be ended, a RegExp can't.
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 150_000,
  });
  expect(child.stderr).toBe('');
  expect(child.stdout.trim()).toBe(String(patterns.length * 6));
});
