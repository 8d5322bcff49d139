import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { rank, wordsOf } from './index.ts';

const self = (text: string): string => text;
const best = (query: string, texts: readonly string[]) => rank(query, texts, self)[0];

test('names are taken apart', () => {
  expect(wordsOf('Query-Availability, queryAvailability query_availability')).toEqual([
    'query',
    'availability',
    'query',
    'availability',
    'query',
    'availability',
  ]);
});

for (const [text, words] of [
  ['Déjà-vu, twice!', ['deja', 'vu', 'twice']],
  ['東京都 tower東京', ['東京', '京都', 'tower', '東京']],
  ['ありがとう', ['あり', 'りが', 'がと', 'とう']],
  ['Ｆｕｌｌ ｗｉｄｔｈ', ['full', 'width']],
  ['안녕하세요 세계', ['안녕하세요', '세계']],
  ['नमस्ते दुनिया', ['नमस्ते', 'दुनिया']],
  ['مُحَمَّد', ['محمد']],
  ['Straße 42', ['straße', '42']],
  ['猫', ['猫']],
  ['… !', []],
] as const) {
  test(`the words of ${JSON.stringify(text)}`, () => {
    expect(wordsOf(text)).toEqual(words);
  });
}

test('no text has words without a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (text) => {
      expect(wordsOf(text).every((word) => word !== '')).toBe(true);
    }),
  );
});

test.each([
  ['weather tomorrow', 'gives the weather forecast'],
  ['预订会议', '会议安排: 预订会议时间'],
  ['прогноз погоды', 'даёт прогноз погоды'],
  ['توقعات الطقس', 'توقعات الطقس اليومية'],
  ['명함 번역', '문서를 번역 합니다'],
])('%s finds its agent', (query, wanted) => {
  const texts = ['sells concert tickets', wanted, 'keeps the accounts'];
  expect(best(query, texts)?.document).toBe(wanted);
});

test('the rare word decides, and words in sequence beat the same words apart', () => {
  const texts = ['agent for agent things agent', 'agent that books flights', 'agent of change'];
  expect(best('agent flights', texts)?.document).toBe('agent that books flights');
  const order = rank('meeting room', ['room for a long meeting', 'a long meeting room here'], self);
  expect(order[0]?.document).toBe('a long meeting room here');
});

test('another ending of a word is found, but the word itself comes first', () => {
  const found = rank('forecasts', ['one forecast only', 'all forecasts here'], self);
  expect(found.map(({ document }) => document)).toEqual([
    'all forecasts here',
    'one forecast only',
  ]);
});

test('the best has relative 1 even when it fits badly, which its fit tells', () => {
  const texts = ['translates documents', 'sells cars'];
  const bad = best('translates whale songs into music', texts);
  expect(bad?.relative).toBe(1);
  expect(bad?.fit).toBeLessThan(0.3);
  expect(best('translates documents', texts)?.fit).toBe(1);
});

test('a word of every document finds the best 1,000, with the fit of all of them', () => {
  const notes = Array.from({ length: 1_500 }, (_, at) => `note ${at}`);
  const found = rank('note', notes, String);
  expect(found).toHaveLength(1_000);
  expect(found[0]?.fit).toBe(1);
});

test('words of every document look at 1,000 documents; beside a rarer word they hide nothing', () => {
  const notes = Array.from({ length: 2_500 }, (_, at) => `a note on day ${at}`);
  expect(rank('note on a day', notes, String)).toHaveLength(1_000);
  expect(rank('note on day 2499', notes, String)[0]?.document).toBe('a note on day 2499');
});

test('what shares nothing is left out, and an empty query finds nothing', () => {
  expect(rank('zebra', ['a', 'b'], self)).toEqual([]);
  expect(rank('', ['a'], self)).toEqual([]);
  expect(rank('!?', ['a'], self)).toEqual([]);
  expect(rank('a', [], self)).toEqual([]);
});

test('any query and any texts give scores within their bounds, in order', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string(), { maxLength: 8 }), (query, texts) => {
      const found = rank(query, texts, self);
      let before = Number.POSITIVE_INFINITY;
      for (const { score, relative, fit } of found) {
        expect(score).toBeGreaterThan(0);
        expect(score).toBeLessThanOrEqual(before);
        expect(relative).toBeGreaterThan(0);
        expect(relative).toBeLessThanOrEqual(1);
        expect(fit).toBeGreaterThanOrEqual(0);
        expect(fit).toBeLessThanOrEqual(1 + 1e-9);
        before = score;
      }
    }),
  );
});
