import { Client } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { postgres } from '../../../test/support/postgres.ts';
import {
  admit,
  alice,
  append,
  carryOn,
  ending,
  inputRequired,
} from '../behaviour/fixtures.contract.ts';
import { taskStateRows } from '../encoding.ts';
import { Connections, openPostgres } from './open-postgres.ts';
import { query } from './database.contract.ts';
import { migrate, migrationStatus, readMigrations } from './migrations.ts';
import { Notices } from './notices.ts';
import { placeOf } from './link.ts';
import { PostgresStore } from './postgres-store.ts';

const first = {
  version: 1,
  name: '0001_first',
  sql: 'CREATE TABLE legate.a (n integer); INSERT INTO legate.a VALUES (7)',
};
const second = {
  version: 2,
  name: '0002_second',
  sql: 'ALTER TABLE legate.a ADD COLUMN m integer; UPDATE legate.a SET m = n + 1',
};
const broken = {
  version: 3,
  name: '0003_broken',
  sql: 'ALTER TABLE legate.a ADD COLUMN k integer; UPDATE legate.absent SET x = 1',
};

let url: string;
beforeEach(async () => {
  url = await (await postgres()).database();
});

test('the files are numbered from 1 without a gap', () => {
  const versions = readMigrations().map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, index) => index + 1));
  expect(versions.length).toBeGreaterThan(0);
});

test('an empty database takes all steps in order', async () => {
  expect(await migrationStatus(url, [first, second])).toEqual({
    current: 0,
    latest: 2,
    pending: ['0001_first', '0002_second'],
  });
  expect(await migrate(url, [first, second])).toEqual({ current: 2, latest: 2, pending: [] });
  expect(await query(url, 'SELECT * FROM legate.a')).toEqual([{ n: 7, m: 8 }]);
});

test('a database of an older version takes only the steps after it, and keeps its data', async () => {
  await migrate(url, [first]);
  await query(url, 'UPDATE legate.a SET n = 100');
  expect(await migrationStatus(url, [first, second])).toMatchObject({ pending: ['0002_second'] });
  await migrate(url, [first, second]);
  expect(await query(url, 'SELECT * FROM legate.a')).toEqual([{ n: 100, m: 101 }]);
});

test('a step that fails leaves the database at the step before it', async () => {
  await migrate(url, [first]);
  await expect(migrate(url, [first, second, broken])).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining('absent'),
  });
  expect(await migrationStatus(url, [first, second, broken])).toMatchObject({
    current: 2,
    pending: ['0003_broken'],
  });
  expect(await query(url, 'SELECT * FROM legate.a')).toEqual([{ n: 7, m: 8 }]);
});

test('several replicas may start at once on an empty database', async () => {
  const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgres({ url })));
  const { latest } = await migrationStatus(url);
  expect(await query(url, 'SELECT count(*)::int AS n FROM legate.migrations')).toEqual([
    { n: latest },
  ]);
  for (const store of stores) await store.close();
});

test('a migration that another connection holds up for too long fails and names its process', async () => {
  await using held = await lockedMigrations();
  await expect(migrate(url, [first], { waitMs: 1 })).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining(`a client (process ${held.pid}) has been migrating it`),
  });
  await held[Symbol.asyncDispose]();
  expect(await migrate(url, [first])).toMatchObject({ current: 1 });
});

/** A connection that holds the lock of a migrating replica. */
async function lockedMigrations() {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN; SELECT pg_advisory_xact_lock(1279739204)');
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return { pid: rows[0]?.pid, [Symbol.asyncDispose]: () => client.end() };
}

test('a migration whose connection breaks fails with the reason', async () => {
  const fatal = { ...first, sql: 'SELECT pg_terminate_backend(pg_backend_pid())' };
  for (const sql of [fatal.sql, `-- concurrently\n${fatal.sql};\n`]) {
    await expect(migrate(url, [{ ...fatal, sql }])).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('terminating connection'),
    });
  }
});

test('a schema of a newer version is refused, with both versions and what to do, and left alone', async () => {
  const latest = (await migrate(url)).latest;
  await query(url, 'INSERT INTO legate.migrations (version, name) VALUES ($1, $2)', [
    latest + 1,
    'later',
  ]);
  const refusal = {
    code: 'STORE_VERSION',
    message: expect.stringMatching(
      new RegExp(`version ${latest + 1}.* up to ${latest}; use the newer version`),
    ),
  };
  await expect(openPostgres({ url })).rejects.toMatchObject(refusal);
  await expect(migrationStatus(url)).rejects.toMatchObject(refusal);
  expect(await query(url, 'SELECT count(*)::int AS n FROM legate.migrations')).toEqual([
    { n: latest + 1 },
  ]);
});

test('a store that must not migrate refuses a schema that is behind, and opens one that is not', async () => {
  await expect(openPostgres({ url, migrates: false })).rejects.toMatchObject({
    code: 'STORE_VERSION',
    message: expect.stringContaining('legate db migrate'),
  });
  expect(await query(url, "SELECT to_regnamespace('legate') AS schema")).toEqual([
    { schema: null },
  ]);
  await migrate(url);
  const store = await openPostgres({ url, migrates: false });
  await store.close();
});

test('a database shared with other programs keeps what is theirs', async () => {
  await query(url, 'CREATE TABLE tasks (n integer)');
  const store = await openPostgres({ url });
  await store.close();
  expect(await query(url, 'SELECT * FROM public.tasks')).toEqual([]);
});

test('a database of the former schema keeps its tasks, and states get their names', async () => {
  await migrate(url, readMigrations().slice(0, -1));
  const place = placeOf({ url });
  const connections = new Connections(place, {
    listen: place,
    onListen: async () => {},
    readConnections: 1,
    waitMs: 5_000,
    statementTimeoutMs: 15_000,
  });
  const former = new PostgresStore(connections, new Notices(async () => {}));
  await connections.open();
  const { turn } = await admit(former, { taskId: 't' });
  await append(former, ending(turn, 1));
  const open = await admit(former, { taskId: 'open' });
  const asking = await admit(former, { taskId: 'asking', contextId: 'asking' });
  await append(former, ending(asking.turn, 1, inputRequired, { isSuperseded: true }));
  await former.close();
  const store = await openPostgres({ url });
  expect(await store.load('t')).toMatchObject({ state: 'TASK_STATE_COMPLETED', version: 2 });
  expect(await store.readEvents('t', 0, 9)).toHaveLength(2);
  expect(await store.load('asking')).toMatchObject({ isSuperseded: true });
  expect((await store.list({ owner: alice, limit: 9 })).total).toBe(3);
  await append(store, ending(open.turn, 1));
  await append(store, ending((await carryOn(store, { taskId: 'asking' })).turn, 2));
  await admit(store, { taskId: 'new', contextId: 'new' });
  // Replicas of the version before read and cancel by names that are views now.
  const cancel = `UPDATE legate.tasks SET cancel_requested = true WHERE id = 'new' RETURNING version`;
  expect(await query(url, cancel)).toEqual([{ version: 1 }]);
  expect(await store.load('new')).toMatchObject({ cancelRequested: true });
  const events = `SELECT sequence FROM legate.tasks JOIN legate.events ON events.task = tasks.number
    WHERE tasks.id = 'asking' ORDER BY sequence`;
  expect(await query(url, events)).toEqual([{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }]);
  await store.close();
  const rows = await query(
    url,
    'SELECT number, name, is_terminal AS "isTerminal" FROM legate.task_states ORDER BY number',
  );
  expect(rows).toEqual(taskStateRows);
  const named = await query(
    url,
    `SELECT number FROM legate.task_states WHERE legate.is_terminal(number) <> is_terminal
       OR legate.has_ended(number) <> (is_terminal OR legate.is_superseded(number))
       OR legate.is_superseded(number) <> (name LIKE '%superseded')`,
  );
  expect(named).toEqual([]);
});
