import { expect, test } from 'vitest';
import { z } from 'zod';
import { StoredFormat } from './stored-format.ts';

const first = new StoredFormat({ name: 'note', schema: z.string() });
const third = new StoredFormat({
  name: 'note',
  version: 3,
  schema: z.object({ text: z.string(), tags: z.array(z.string()) }),
  upgrades: {
    1: (value) => ({ text: value }),
    2: (value) => ({ ...(value as { text: string }), tags: [] }),
  },
});

test('a value is read back as it was written', () => {
  const note = { text: 'x', tags: ['y'] };
  expect(third.decode(third.encode(note).value, 'n')).toEqual(note);
  expect(first.encode('x').text).toBe('"x"');
});

test('values of former versions are upgraded step by step', () => {
  expect(third.decode(first.encode('x').value, 'n')).toEqual({ text: 'x', tags: [] });
  expect(third.decode({ v: 2, text: 'x' }, 'n')).toEqual({ text: 'x', tags: [] });
});

test('a value of a later version is refused by its name and version', () => {
  expect(() => third.decode({ v: 4, text: 'x' }, 'n')).toThrow(
    `can't read note "n" (version 4): this program supports versions up to 3; it was written by another ` +
      'version of Legate: use that version, or delete it',
  );
});

test('a value that does not fit is refused with the field at fault', () => {
  expect(() => third.decode({ v: 3, text: 1, tags: [] }, 'n')).toThrow(
    /note "n" \(version 3\): value\.text: .*expected string/,
  );
});
