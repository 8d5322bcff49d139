import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance } from '../../../config/index.ts';
import { english } from './language.ts';
import { isNearly, maximumCharacters, readMessage, without } from './words.ts';

const stem = (word: string): string => english.stem(word);

test.each([
  ['transfers', 'transfer'],
  ['transferring', 'transfer'],
  ['transferred', 'transfer'],
  ['booking', 'book'],
  ['cancellation', 'cancelling'],
  ['cancel', 'cancelled'],
  ['freeze', 'freezing'],
  ['reserve', 'reservation'],
  ['pay', 'payment'],
  ['company', 'companies'],
  ['address', 'addresses'],
  ['box', 'boxes'],
  ['card', 'cards'],
  ["bob's", 'bob'],
])('%s and %s share a stem', (one, two) => {
  expect(stem(one)).toBe(stem(two));
});

test.each([
  ['address', 'add'],
  ['bus', 'bu'],
  ['sing', 's'],
])('%s and %s do not', (one, two) => {
  expect(stem(one)).not.toBe(stem(two));
});

test('swapped, missing, doubled and wrong letters are one mistake each', () => {
  expect(editDistance('saving', 'savign', 2)).toBe(1);
  expect(editDistance('saving', 'saing', 2)).toBe(1);
  expect(editDistance('saving', 'savving', 2)).toBe(1);
  expect(editDistance('saving', 'saxing', 2)).toBe(1);
  expect(editDistance('saving', 'checking', 2)).toBe(3);
});

test('distance is symmetric and at most one above its limit', () => {
  const word = fc.string({ maxLength: 10 });
  fc.assert(
    fc.property(word, word, (one, two) => {
      const distance = editDistance(one, two, 2);
      expect(distance).toBe(editDistance(two, one, 2));
      expect(distance).toBeLessThanOrEqual(3);
      expect(distance === 0).toBe(one === two);
    }),
  );
});

test('short words must be right', () => {
  expect(isNearly('cat', 'car')).toBe(false);
  expect(isNearly('card', 'crad')).toBe(true);
});

test('positions in the folded text are those of the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (raw) => {
      const message = readMessage(raw);
      expect(message.folded).toHaveLength(message.text.length);
      for (const token of message.tokens) {
        expect(message.text.slice(token.start, token.end)).toBe(token.text);
      }
    }),
  );
});

test('only the start of a long message is read', () => {
  const message = readMessage('word '.repeat(1_000_000));
  expect(message.text.length).toBeLessThanOrEqual(maximumCharacters);
});

test('a message without some of its stretches', () => {
  const message = readMessage('send 50 to Bob');
  expect(without(message, [{ start: 5, end: 8 }]).text).toBe('send to Bob');
});
