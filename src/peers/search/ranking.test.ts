import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { rank } from './ranking.ts';
import { tokensOf } from './tokens.ts';

const self = (text: string): string => text;
const best = (query: string, texts: readonly string[]) => rank(query, texts, self)[0];

test('words are found in any script, and names are taken apart', () => {
  expect(tokensOf('Query-Availability, queryAvailability query_availability')).toEqual([
    'query',
    'availability',
    'query',
    'availability',
    'query',
    'availability',
  ]);
  expect(tokensOf('Größe ＡＢＣ')).toEqual(['größe', 'abc']);
  expect(tokensOf('天气预报').length).toBeGreaterThan(0);
  expect(tokensOf('Погода в Москве')).toEqual(['погода', 'в', 'москве']);
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
