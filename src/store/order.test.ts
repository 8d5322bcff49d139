import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareText, prefixEnd } from './encoding.ts';

const text = fc.string({ unit: 'binary', maxLength: 6 });

test('text is ordered as its UTF-8 bytes are', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareText(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test('the end of a prefix comes after all that start with it, and before all else that is greater', () => {
  fc.assert(
    fc.property(text, text, (prefix, other) => {
      const end = prefixEnd(prefix);
      const isWithin =
        compareText(other, prefix) >= 0 && (end === undefined || compareText(other, end) < 0);
      expect(isWithin).toBe(other.startsWith(prefix));
      expect(end === undefined || compareText(prefix + other, end) < 0).toBe(true);
    }),
  );
});

test.each([
  ['', undefined],
  ['a', 'b'],
  ['a\u{10FFFF}', 'b'],
  ['\u{10FFFF}', undefined],
  ['\uD7FF', '\uE000'],
  ['\uFFFF', '\u{10000}'],
])('the end of %j is %j', (prefix, end) => {
  expect(prefixEnd(prefix)).toBe(end);
});
