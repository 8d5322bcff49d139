import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readMessage } from '../../words/words.ts';
import { findNumbers, readNumbers } from './numbers.ts';

const values = (text: string, language?: string): number[] =>
  findNumbers(readMessage(text), language).map((one) => one.value);

test.each([
  ['50', [50]],
  ['50.', [50]],
  ['send 50 to Bob', [50]],
  ['1,200.50', [1200.5]],
  ['1.200,50', [1200.5]],
  ['1,200', [1200]],
  ['1,20', [1.2]],
  ['1.5', [1.5]],
  ["1'200", [1200]],
  ['1 200', [1200]],
  ['1 200 300,75', [1200300.75]],
  ['12,345,678', [12345678]],
  ['1.234.567', [1234567]],
  ['$50', [50]],
  ['€ 1.200,50', [1200.5]],
  ['50€', [50]],
  ['50 cents', [0.5]],
  ['20 euros and 50 cents', [20.5]],
  ['twenty euros and five cents', [20.05]],
  ['3 euros 50', [3.5]],
  ['send 3€50 to Bob', [3.5]],
  ['20 euros 50 times', [20, 50]],
  ['2 pounds, 30 minutes', [2, 30]],
  ['٢٠ euros', [20]],
  ['१२३', [123]],
  ['５０', [50]],
  ['50 euros', [50]],
  ['-5', [-5]],
  ['minus twenty', [-20]],
  ['minus 20', [-20]],
  ['20 to 0170123456', [20]],
  ['0.5', [0.5]],
  ['5k', [5000]],
  ['2.5m', [2500000]],
  ['3 thousand', [3000]],
  ['1.5 million dollars', [1500000]],
  ['fifty', [50]],
  ['fifty-five', [55]],
  ['two hundred and fifty', [250]],
  ['one thousand two hundred', [1200]],
  ['a hundred', [100]],
  ['a hundred and twenty', [120]],
  ['a thousand', [1000]],
  ['half a million', [500000]],
  ['a couple of days', [2]],
  ['a dozen', [12]],
  ['two adults and three children', [2, 3]],
  ['five twenty', [5, 20]],
  ['50 2', [50, 2]],
  ['between 10 and 20', [10, 20]],
  ['two and a half years', [2.5]],
  ['2 and a half', [2.5]],
  ['two years and a half', [2.5]],
  ['about 5k', [5000]],
  ['5km away', []],
  ['room B12', []],
  ['no numbers here', []],
  ['', []],
])('%s', (text, expected) => {
  expect(values(text)).toEqual(expected);
});

test('a lone point groups thousands only where the language has a decimal comma', () => {
  expect(values('1.200')).toEqual([1.2]);
  expect(values('1.200', 'de')).toEqual([1200]);
  expect(values('1,200', 'de')).toEqual([1.2]);
});

test('money is told from other numbers', () => {
  const found = findNumbers(readMessage('send $50 in 3 days, or 20 euros'));
  expect(found.map((one) => [one.value, one.isMoney])).toEqual([
    [50, true],
    [3, false],
    [20, true],
  ]);
});

test('"one" alone is a weak number', () => {
  expect(findNumbers(readMessage('the one I want')).map((one) => one.isWeak)).toEqual([true]);
});

test('any number that is written plainly is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), (number) => {
      expect(values(`send ${number} now`)).toEqual([number]);
      expect(values(`send ${number.toLocaleString('en-US')} now`)).toEqual([number]);
    }),
  );
});

test('implausible numbers are ignored', () => {
  expect(values('9'.repeat(400))).toEqual([]);
});

test.each([
  ['10.000', 10, 10_000],
  ['four or five', 4, 5],
  ['5-6', 5, 6],
  ['5 - 6 people', 5, 6],
  ['2 or maybe 3', 2, 3],
])('%s is unclear: %d or %d', (text, value, alternative) => {
  expect(readNumbers(text)).toEqual([{ value, alternative, isMoney: false }]);
});

test.each(['24-7', 'from 50 to 60', '5 and 6', '2026-11-20'])('%s is no range', (text) => {
  expect(readNumbers(text).every(({ alternative }) => alternative === undefined)).toBe(true);
});

test.each([
  ['5000 euros over 24 months', [5000, undefined], [24, 'month']],
  ['5k over a year and a half', [5000, undefined], [1.5, 'year']],
  ['half a year', [0.5, 'year']],
  ['1.5 years', [1.5, 'year']],
])('%s has numbers with their units of time', (text, ...expected) => {
  expect(readNumbers(text).map(({ value, unit }) => [value, unit])).toEqual(expected);
});
