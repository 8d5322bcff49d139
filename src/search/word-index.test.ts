import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { WordIndex } from './word-index.ts';

function indexOf(...documents: readonly string[]): WordIndex {
  const index = new WordIndex();
  for (const words of documents) index.add(words.split(' '));
  return index;
}

function scoresOf(index: WordIndex, word: string): ReadonlyMap<number, number> {
  const scores = new Map<number, number>();
  index.score(word, (document, score) => scores.set(document, score));
  return scores;
}

test('a word counts more when it is repeated, when it is rare, and in a short document', () => {
  const index = indexOf('rain rain sun', 'rain sun', 'sun wind and a cloud over here', 'sun');
  expect(index.countOf('rain')).toBe(2);
  expect(index.countOf('snow')).toBe(0);
  const rain = scoresOf(index, 'rain');
  expect([...rain.keys()]).toEqual([0, 1]);
  expect(rain.get(0)).toBeGreaterThan(rain.get(1) ?? 0);
  const sun = scoresOf(index, 'sun');
  expect(rain.get(1)).toBeGreaterThan(sun.get(1) ?? 0);
  expect(sun.get(3)).toBeGreaterThan(sun.get(2) ?? 0);
  expect(scoresOf(index, 'snow').size).toBe(0);
});

test('words with another ending are similar, and longer ones with a letter more, less or wrong', () => {
  const index = indexOf('book books booking transfer tranfser transfers trnsfer ransfer trensfir');
  expect([...index.similarTo('book').keys()]).toEqual(['books', 'booking']);
  expect([...index.similarTo('transfer').keys()]).toEqual(['transfers', 'trnsfer', 'ransfer']);
  expect([...index.similarTo('boo').keys()]).toEqual([]);
  expect([...index.similarTo('unknown').keys()]).toEqual([]);
});

test('each word with one letter more, less or wrong is found', () => {
  const word = fc.stringMatching(/^[abc]{6,9}$/);
  const edits = fc.tuple(word, fc.nat(8), fc.constantFrom('', 'a', 'b', 'c'), fc.boolean());
  fc.assert(
    fc.property(edits, ([asked, at, letter, isAdded]) => {
      const edited = asked.slice(0, at) + letter + asked.slice(isAdded ? at : at + 1);
      const index = indexOf(edited);
      const isFound = index.similarTo(asked).has(edited);
      expect(isFound).toBe(edited !== asked);
    }),
  );
});
