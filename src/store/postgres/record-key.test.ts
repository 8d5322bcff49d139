import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareText } from '../encoding.ts';
import { escapeKey, unescapeKey } from './record-table.ts';

const key = fc.string({ unit: fc.constantFrom('\0', '\u0001', '\u0002', '\u0003', 'a') });

test('a key comes back as it was, and never holds a NUL meanwhile', () => {
  fc.assert(
    fc.property(key, (text) => {
      expect(unescapeKey(escapeKey(text))).toBe(text);
      expect(escapeKey(text)).not.toContain('\0');
    }),
  );
});

test('the order of keys, and their beginnings, stay as they were', () => {
  fc.assert(
    fc.property(key, key, (one, two) => {
      expect(Math.sign(compareText(escapeKey(one), escapeKey(two)))).toBe(
        Math.sign(compareText(one, two)),
      );
      expect(escapeKey(one).startsWith(escapeKey(two))).toBe(one.startsWith(two));
    }),
  );
});
