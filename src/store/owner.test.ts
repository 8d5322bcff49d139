import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownerKey } from './encoding.ts';

/** Any text at all, lone surrogates included. */
const any = fc.array(fc.nat({ max: 0xffff })).map((units) => String.fromCharCode(...units));
const parts = fc.record({ agent: any, tenant: any, subject: any });

test('different callers never share an owner, not even as UTF-8', () => {
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const same = a.agent === b.agent && a.tenant === b.tenant && a.subject === b.subject;
      expect(Buffer.from(ownerKey(a)).equals(Buffer.from(ownerKey(b)))).toBe(same);
    }),
  );
});

test('separators and odd characters inside a part stay inside it', () => {
  const keys = [
    ownerKey({ agent: 'a', tenant: 'b","c', subject: '' }),
    ownerKey({ agent: 'a', tenant: 'b', subject: 'c' }),
    ownerKey({ agent: 'a","b', tenant: 'c', subject: '' }),
    ownerKey({ agent: 'a', tenant: '', subject: '\uD800' }),
    ownerKey({ agent: 'a', tenant: '', subject: '\uD801' }),
    ownerKey({ agent: 'a', tenant: '', subject: '\uFFFD' }),
    ownerKey({ agent: 'a', tenant: '', subject: '\u0000' }),
  ];
  expect(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size).toBe(keys.length);
});
