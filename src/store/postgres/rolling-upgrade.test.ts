/** Replicas of the version before, at work on a schema that is migrated under them. */
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { postgres } from '../../../test/support/postgres.ts';
import { admit, alice, append, ending } from '../behaviour/fixtures.contract.ts';
import { query } from './database.contract.ts';
import { migrate, migrationStatus, readMigrations } from './migrations.ts';
import { Notices } from './notices.ts';
import { Connections, openPostgres } from './open-postgres.ts';
import { placeOf } from './link.ts';
import { PostgresStore } from './postgres-store.ts';

const published = 10;
const steps = readMigrations();

/** The step that replaces the tables. */
const swap = steps.findIndex(({ name }) => name.endsWith('open_and_ended'));
/** The step that replaces the log. */
const logSwap = steps.findIndex(({ name }) => name.endsWith('phrases'));

/**
 * A replica of the published version: it calls the same functions as this version, and has these
 * statements of its own.
 */
const former = {
  cancel: `WITH task AS (
      UPDATE legate.tasks SET cancel_requested = true
      WHERE id = $1 AND state NOT IN (3, 4, 5, 7) RETURNING id, version
    )
    SELECT task.version, EXISTS (
      SELECT FROM legate.turns WHERE task_id = task.id AND replica IS NOT NULL
    ) AS is_running FROM task`,
  events: `SELECT events.sequence FROM legate.tasks
    JOIN legate.events ON events.task = tasks.number WHERE tasks.id = $1 ORDER BY events.sequence`,
  push: `SELECT legate.put_push_of($1, 'w', '{}', '1.0')`,
  sweep: 'SELECT * FROM legate.sweep_over(10000000000000, NULL, 10)',
};

interface Former {
  readonly store: PostgresStore;
  readonly client: Client;
}

let url: string;
let replicas: Former[] = [];

beforeEach(async () => {
  url = await (await postgres()).database();
  await migrate(url, steps.slice(0, published));
  replicas = [await startFormer(), await startFormer()];
});

afterEach(async () => {
  for (const { store, client } of replicas) {
    await store.close();
    await client.end();
  }
});

async function startFormer(): Promise<Former> {
  const place = placeOf({ url });
  const connections = new Connections(place, {
    listen: place,
    onListen: async () => {},
    readConnections: 1,
    waitMs: 5_000,
    statementTimeoutMs: 15_000,
  });
  await connections.open();
  const client = new Client({ connectionString: url, pipeline: true });
  await client.connect();
  return { store: new PostgresStore(connections, new Notices(async () => {})), client };
}

/** Sends on both replicas until the signal; every failure rejects. */
function traffic(signal: AbortSignal): { readonly done: string[]; readonly end: Promise<unknown> } {
  const done: string[] = [];
  const sender = async ({ store, client }: Former, name: string): Promise<void> => {
    for (let count = 0; !signal.aborted; count += 1) {
      const id = `${name}-${count}`;
      const { turn } = await admit(store, { taskId: id, contextId: id, maxContexts: 50 });
      if (count % 3 === 0) {
        const cancelled = await client.query(named(former.cancel, [id]));
        expect(cancelled.rows).toEqual([{ version: 1, is_running: true }]);
      }
      if (count % 5 === 0) await client.query(named(former.push, [id]));
      if (count % 10 === 0) await client.query(named(former.sweep, []));
      const outcome = await append(store, ending(turn, 1));
      expect(outcome).toMatchObject({ kind: 'appended', cancelRequested: count % 3 === 0 });
      const { rows } = await client.query(named(former.events, [id]));
      expect(rows).toEqual([{ sequence: 1 }, { sequence: 2 }]);
      done.push(id);
    }
  };
  const senders = replicas.flatMap((replica, index) =>
    Array.from({ length: 8 }, (_, each) => sender(replica, `r${index}-${each}`)),
  );
  return { done, end: Promise.all(senders) };
}

/** Calls that wait for a table. */
const blocked = `SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'relation'`;

/** A prepared statement, as replicas have. */
function named(text: string, values: unknown[]) {
  return { name: text.slice(0, 60), text, values };
}

test.each([swap, logSwap])(
  'replicas of the version before lose no call to a migration that keeps them waiting at step %s, and continue',
  async (step) => {
    const load = new AbortController();
    const { done, end } = traffic(load.signal);
    await expect.poll(() => done.length).toBeGreaterThan(50);
    // Calls of every kind wait for the tables during a function, and find views.
    const slow = steps.map((each, index) =>
      index === step ? { ...each, sql: `${each.sql};\nSELECT pg_sleep(1.5)` } : each,
    );
    expect(await migrate(url, slow)).toMatchObject({ current: steps.length });
    const before = done.length;
    await expect.poll(() => done.length, { timeout: 20_000 }).toBeGreaterThan(before + 50);
    const store = await openPostgres({ url });
    const { turn } = await admit(store, { taskId: 'new', contextId: 'new' });
    const [first] = replicas;
    const seen = await first?.client.query(named(former.events, ['new']));
    expect(seen?.rows).toEqual([{ sequence: 1 }]);
    await append(store, ending(turn, 1));
    load.abort();
    await end;
    for (const id of done) {
      expect(await store.load(id, alice)).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
    }
    const open = 'SELECT count(*)::int AS open FROM legate.open_tasks';
    expect(await query(url, open)).toEqual([{ open: 0 }]);
    await store.close();
  },
  60_000,
);

/** After what a sweep of this moment removes, whichever call runs first. */
const later = Date.now() + 3_600_000;

test('calls that wait for the log during a function find a view there, and succeed', async () => {
  await migrate(url, steps.slice(0, logSwap));
  const [{ store } = fail()] = replicas;
  const ids = ['ends', 'swept'];
  const turns = await Promise.all(
    ids.map(async (id) => (await admit(store, { taskId: id, contextId: id })).turn),
  );
  await append(store, ending(turns[1] ?? fail(), 1));
  const migration = new Client({ connectionString: url });
  await migration.connect();
  await migration.query('BEGIN; LOCK TABLE legate.event_batches IN ACCESS EXCLUSIVE MODE');
  const waiting = [
    async ({ store }: Former) => admit(store, { taskId: 'a', contextId: 'a' }),
    async ({ store }: Former) =>
      append(store, ending(turns[0] ?? fail(), 1, undefined, { statusTime: later })),
    async ({ client }: Former) =>
      (await client.query('SELECT tasks FROM legate.sweep_over(1000, NULL, 10)')).rows,
  ];
  const formers = await Promise.all(waiting.map(() => startFormer()));
  replicas.push(...formers);
  const calls: Promise<unknown>[] = waiting.map((call, index) => call(formers[index] ?? fail()));
  await expect.poll(() => query(url, blocked)).toEqual([{ count: calls.length }]);
  await migration.query(steps[logSwap]?.sql ?? fail());
  await migration.query(`INSERT INTO legate.migrations VALUES (${logSwap + 1}, 'log'); COMMIT`);
  await migration.end();
  expect(await Promise.all(calls)).toEqual([
    expect.objectContaining({ running: true }),
    expect.objectContaining({ kind: 'appended' }),
    [{ tasks: 1 }],
  ]);
  const logs = `SELECT id, (SELECT array_agg(sequence ORDER BY sequence) FROM legate.events WHERE task = number) AS events
    FROM legate.tasks ORDER BY id`;
  expect(await query(url, logs)).toEqual([
    { id: 'a', events: [1] },
    { id: 'ends', events: [1, 2] },
  ]);
  expect(await store.load('ends', alice)).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
}, 60_000);

test('calls that wait for the tables during a function find views there, and succeed', async () => {
  const [{ store } = fail()] = replicas;
  const ids = ['ends', 'cancels', 'pushes', 'swept'];
  const turns = await Promise.all(
    ids.map(async (id) => (await admit(store, { taskId: id, contextId: id })).turn),
  );
  await append(store, ending(turns[3] ?? fail(), 1));
  const migration = new Client({ connectionString: url });
  await migration.connect();
  await migrate(url, steps.slice(0, swap));
  await migration.query('BEGIN; LOCK TABLE legate.tasks IN ACCESS EXCLUSIVE MODE');
  const waiting = [
    async ({ store }: Former) => admit(store, { taskId: 'a', contextId: 'a', maxContexts: 50 }),
    async ({ store }: Former) =>
      append(store, ending(turns[0] ?? fail(), 1, undefined, { statusTime: later })),
    async ({ client }: Former) => (await client.query(former.cancel, ['cancels'])).rows,
    async ({ client }: Former) => (await client.query(former.push, ['pushes'])).rows,
    async ({ client }: Former) =>
      (await client.query('SELECT tasks FROM legate.sweep_over(1000, NULL, 10)')).rows,
  ];
  const formers = await Promise.all(waiting.map(() => startFormer()));
  replicas.push(...formers);
  const calls: Promise<unknown>[] = waiting.map((call, index) => call(formers[index] ?? fail()));
  await expect.poll(() => query(url, blocked)).toEqual([{ count: calls.length }]);
  await migration.query(steps[swap]?.sql ?? fail());
  await migration.query(`INSERT INTO legate.migrations VALUES (${swap + 1}, 'swap'); COMMIT`);
  await migration.end();
  expect(await Promise.all(calls)).toEqual([
    expect.objectContaining({ running: true }),
    expect.objectContaining({ kind: 'appended' }),
    [{ version: 1, is_running: true }],
    [{ put_push_of: true }],
    [{ tasks: 1 }],
  ]);
  await migrate(url);
  const tasks = `SELECT id, version, state, cancel_requested, push_configs,
      (SELECT array_agg(sequence ORDER BY sequence) FROM legate.events WHERE task = number) AS events
    FROM legate.tasks ORDER BY id`;
  const open = { version: 1, state: 1, cancel_requested: false, push_configs: 0, events: [1] };
  expect(await query(url, tasks)).toEqual([
    { ...open, id: 'a' },
    { ...open, id: 'cancels', cancel_requested: true },
    { ...open, id: 'ends', version: 2, state: 3, events: [1, 2] },
    { ...open, id: 'pushes', push_configs: 1 },
  ]);
  expect(await query(url, 'SELECT id FROM legate.ended_tasks')).toEqual([{ id: 'ends' }]);
}, 60_000);

test('a migration behind an open reader lets replicas continue, and ends with the reader', async () => {
  const reader = new Client({ connectionString: url });
  await reader.connect();
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await reader.query('SELECT count(*) FROM legate.tasks');
  const load = new AbortController();
  const { done, end } = traffic(load.signal);
  const migrated = migrate(url);
  const before = done.length;
  await expect.poll(() => done.length, { timeout: 20_000 }).toBeGreaterThan(before + 100);
  expect((await migrationStatus(url)).pending.length).toBeGreaterThan(0);
  await reader.query('COMMIT');
  await reader.end();
  expect(await migrated).toMatchObject({ pending: [] });
  load.abort();
  await end;
}, 60_000);

test.each([swap, swap - 1])(
  'a migration that a reader keeps from step %s for too long names the reader, and replicas go on',
  async (step) => {
    await migrate(url, steps.slice(0, step));
    const reader = new Client({ connectionString: url, application_name: 'nightly dump' });
    await reader.connect();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query('SELECT count(*) FROM legate.tasks');
    const load = new AbortController();
    const { done, end } = traffic(load.signal);
    await expect(migrate(url, steps, { waitMs: 400 })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringMatching(/nightly dump \(process \d+, open for \d+ s\).* end it/),
    });
    const before = done.length;
    await expect.poll(() => done.length, { timeout: 20_000 }).toBeGreaterThan(before + 20);
    expect(await migrationStatus(url)).toMatchObject({ current: step });
    await reader.end();
    expect(await migrate(url)).toMatchObject({ pending: [] });
    load.abort();
    await end;
  },
  60_000,
);

function fail(): never {
  throw new Error('there is no such thing');
}
