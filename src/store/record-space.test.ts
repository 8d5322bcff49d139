import { expect, test } from 'vitest';
import { z } from 'zod';
import { Json, type JsonValue } from '../protocol/index.ts';
import { openMemory, RecordSpace } from './index.ts';

const note = z.object({ text: z.string(), size: z.number().exactOptional() });
const clock = { now: () => 1_000 };

function start() {
  const { records } = openMemory();
  const notes = new RecordSpace({ records, space: 'notes', schema: note, clock });
  const put = (key: string, text: string) => notes.write(notes.toWrite(key, { text }));
  return { records, notes, put };
}

test('a value is read back with its version and expiry', async () => {
  const { notes } = start();
  await notes.write(notes.toWrite('a', { text: 'one' }, { expiresAt: 2_000 }));
  expect(await notes.get('a')).toMatchObject({
    key: 'a',
    value: { text: 'one' },
    version: 1,
    expiresAt: 2_000,
  });
  await notes.write(notes.toWrite('a'));
  expect(await notes.get('a')).toBeUndefined();
});

test('lists are read page by page, within a prefix', async () => {
  const { notes, put } = start();
  const keys = Array.from({ length: 450 }, (_, index) => `n${String(index).padStart(3, '0')}`);
  for (const key of keys) await put(key, key);
  await put('other', 'other');
  expect(await Array.fromAsync(notes.keys('n'))).toEqual(keys);
  expect(await notes.values('n')).toEqual(keys.map((text) => ({ text })));
});

test('a record that cannot be decoded is named, with the field at fault', async () => {
  const { records, notes } = start();
  const value = Json.of<JsonValue>({ text: 17 });
  await records.write([{ space: 'notes', key: 'odd', value }], 0);
  await expect(notes.get('odd')).rejects.toMatchObject({
    code: 'STORE_VERSION',
    message: expect.stringMatching(
      /record of notes "odd" \(version 1\): value\.text: .*another version of Legate/,
    ),
  });
  expect(await Array.fromAsync(notes.keys())).toEqual(['odd']);
});

test('a change sees what another process wrote meanwhile', async () => {
  const { notes, put } = start();
  await put('a', 'x');
  const grow = () => notes.change('a', (before) => ({ value: { text: `${before?.value.text}!` } }));
  await Promise.all(Array.from({ length: 8 }, grow));
  expect((await notes.get('a'))?.value).toEqual({ text: 'x!!!!!!!!' });
});

test('a change gives up when others always win, and writes nothing', async () => {
  const { records, notes } = start();
  const beaten = new RecordSpace({
    records: { ...records, get: records.get.bind(records), write: async () => false },
    space: 'notes',
    schema: note,
  });
  const line = notes.toWrite('log', { text: 'changed' });
  await expect(
    beaten.change('a', () => ({ value: { text: 'mine' }, also: [line] }), 3),
  ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await notes.values()).toEqual([]);
});

test('what is written also is part of the same transaction', async () => {
  const { notes } = start();
  const stale = notes.toWrite('log', { text: 'changed' }, { ifVersion: 7 });
  await expect(
    notes.change('a', () => ({ value: { text: 'mine' }, also: [stale] }), 2),
  ).rejects.toThrow('being changed');
  expect(await notes.get('a')).toBeUndefined();
});
