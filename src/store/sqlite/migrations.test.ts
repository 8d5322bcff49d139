import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { taskStateRows } from '../encoding.ts';
import { migrate, readMigrations, schemaVersion } from './migrations.ts';
import { openSqlite } from './open-sqlite.ts';

const first = { version: 1, sql: 'CREATE TABLE a (n INTEGER); INSERT INTO a VALUES (7)' };
const second = { version: 2, sql: 'ALTER TABLE a ADD COLUMN m INTEGER; UPDATE a SET m = n + 1' };
const broken = { version: 3, sql: 'ALTER TABLE a ADD COLUMN k INTEGER; UPDATE absent SET x = 1' };

let database: DatabaseSync;
beforeEach(() => {
  database = new DatabaseSync(':memory:');
});
afterEach(() => database.close());

test('the files are numbered from 1 without a gap', () => {
  const versions = readMigrations().map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, index) => index + 1));
  expect(versions.length).toBeGreaterThan(0);
});

test('an empty file takes all steps in order', () => {
  migrate(database, [first, second], 'p');
  expect(schemaVersion(database, 'p')).toBe(2);
  expect({ ...database.prepare('SELECT * FROM a').get() }).toEqual({ n: 7, m: 8 });
});

test('a file of an older version takes only the steps after it, and keeps its data', () => {
  migrate(database, [first], 'p');
  database.exec('UPDATE a SET n = 100');
  migrate(database, [first, second], 'p');
  expect({ ...database.prepare('SELECT * FROM a').get() }).toEqual({ n: 100, m: 101 });
});

test('a step that fails leaves the file at the version it had', () => {
  migrate(database, [first], 'p');
  expect(() => migrate(database, [first, second, broken], 'p')).toThrow('no such table: absent');
  expect(schemaVersion(database, 'p')).toBe(1);
  expect({ ...database.prepare('SELECT * FROM a').get() }).toEqual({ n: 7 });
  expect(database.isTransaction).toBe(false);
});

test('a file of a newer version is refused, with both versions and what to do', () => {
  migrate(database, [first, second], 'p');
  expect(() => migrate(database, [first], 'p')).toThrow(
    expect.objectContaining({
      code: 'STORE_VERSION',
      message: expect.stringMatching(/p: .*version 2.* up to 1; use the newer version/),
    }),
  );
});

test('a database of another program is refused', () => {
  database.exec('CREATE TABLE theirs (n INTEGER)');
  expect(() => migrate(database, [first], 'p')).toThrow(
    expect.objectContaining({
      code: 'STORE_FAILED',
      message: expect.stringContaining('another program'),
    }),
  );
  expect(database.prepare('SELECT name FROM sqlite_schema').all()).toHaveLength(1);
});

test('writing a row builds no table for the condition of an index, as a list of values would', () => {
  migrate(database, readMigrations(), 'p');
  const tables = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .all()
    .map(({ name }) => String(name));
  expect(tables.length).toBeGreaterThan(5);
  for (const name of tables) {
    const columns = database.prepare('SELECT 1 FROM pragma_table_info(?)').all(name);
    const values = columns.map(() => '?').join(', ');
    const steps = database.prepare(`EXPLAIN INSERT INTO ${name} VALUES (${values})`).all();
    const built = steps.filter(({ opcode }) => opcode === 'OpenEphemeral');
    expect({ name, built }).toEqual({ name, built: [] });
  }
});

test('a file of the former schema keeps its tasks, and states get their names', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'former.db');
  const former = new DatabaseSync(path);
  migrate(former, readMigrations().slice(0, -1), path);
  const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
  former.exec(`INSERT INTO tasks VALUES (1, 't', 'a', 'o', 'c', 3, 1000, 1, 0, 0);
    INSERT INTO task_counts VALUES ('o', 3, 1);
    INSERT INTO events VALUES (${2 ** 22 + 1}, '${JSON.stringify({ task })}')`);
  former.close();
  const store = openSqlite({ path });
  expect(await store.load('t')).toMatchObject({ state: 'TASK_STATE_COMPLETED', version: 1 });
  expect(await store.list({ owner: 'o', limit: 9 })).toMatchObject({ total: 1 });
  await store.close();
  const now = new DatabaseSync(path);
  const rows = now.prepare('SELECT * FROM task_states ORDER BY number').all();
  now.close();
  expect(
    rows.map(({ number, name, is_terminal: terminal }) => ({
      number,
      name,
      isTerminal: terminal === 1,
    })),
  ).toEqual(taskStateRows);
});
