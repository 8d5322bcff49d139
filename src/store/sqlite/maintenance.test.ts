import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { Json } from '../../protocol/index.ts';
import { backupSqlite, migrateSqlite, restoreSqlite } from './maintenance.ts';
import { openSqlite } from './open-sqlite.ts';
import { lockInode, lockOwner } from './owner-lock.ts';

async function write(path: string, value: string) {
  const store = openSqlite({ path });
  await store.records.write([{ space: 's', key: 'k', value: Json.of(value) }], 0);
  return store;
}

async function read(path: string): Promise<unknown> {
  const store = openSqlite({ path });
  const found = await store.records.get('s', 'k', 0);
  await store.close();
  return found?.value.value;
}

test('restoring a file with a write-ahead log restores what only the log contains', async () => {
  await using directory = await temporaryDirectory();
  const live = join(directory.path, 'live.db');
  const source = join(directory.path, 'source.db');
  const path = join(directory.path, 'store.db');
  await (await write(live, 'first')).close();
  const store = await write(live, 'last');
  for (const end of ['', '-wal']) copyFileSync(`${live}${end}`, `${source}${end}`);
  await store.close();
  await restoreSqlite(source, path);
  expect(await read(path)).toBe('last');
});

test('a copy is private while it is written', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  const copy = join(directory.path, 'copy.db');
  await (await write(path, 'private')).close();
  const copying = backupSqlite(path, copy);
  expect(statSync(`${copy}.part`).mode & 0o077).toBe(0);
  await copying;
  expect(statSync(copy).mode & 0o077).toBe(0);
});

test('a restore that fails leaves the store, its locks and no other file', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  const source = join(directory.path, 'source.db');
  await (await write(path, 'kept')).close();
  writeFileSync(source, 'not a database, however long this text may be. '.repeat(200));
  await expect(restoreSqlite(source, path, { replaces: true })).rejects.toThrow(
    /source\.db.*damaged/,
  );
  expect(readdirSync(directory.path).filter((name) => name.includes('.part'))).toEqual([]);
  expect(await read(path)).toBe('kept');
});

test('cleaning up does not hide why a copy failed', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  const copy = join(directory.path, 'copy.db');
  writeFileSync(path, 'not a database, however long this text may be. '.repeat(200));
  // A folder can't be removed as a file.
  mkdirSync(`${copy}.part-shm`);
  await expect(backupSqlite(path, copy)).rejects.toThrow(/store\.db.*damaged/);
});

test('a store that another process owns is refused, and no lock on it is kept', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  await (await write(path, 'kept')).close();
  const unlock = lockOwner(path);
  expect(() => migrateSqlite(path)).toThrow('another process has it open');
  lockInode(path)();
  unlock();
  expect(migrateSqlite(path).problems).toEqual([]);
});
