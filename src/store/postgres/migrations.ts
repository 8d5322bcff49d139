import { Client } from 'pg';
import { LegateError } from '../../protocol/index.ts';
import { sleep } from '../../time/index.ts';
import { type Migration, readMigrationFiles } from '../migration-files.ts';
import { apply } from './apply-migration.ts';
import { DatabaseClock } from './database-clock.ts';
import { sqlState, storeFailure, unreachable } from './failure.ts';
import { endClient, type Place, placeOf, type PlaceOptions } from './link.ts';

export interface MigrationStatus {
  /** The schema version of the database; 0 if it contains no store. */
  readonly current: number;
  /** The latest version that this program knows. */
  readonly latest: number;
  /** Names of the pending migrations, in order. */
  readonly pending: readonly string[];
}

/** The migrating replica holds this lock, because several replicas can start at once. */
const migrationLock = 1_279_739_204;
const oldestServer = 130_000;
/** Milliseconds between two attempts to get the lock of another migrating replica. */
const lockPollMs = 100;
/**
 * Milliseconds to wait for another migrating replica, and to retry a migration whose tables a long
 * transaction, such as a dump, has locked.
 */
const longestWaitMs = 300_000;

/** The numbered .sql files beside this module, in order. */
export function readMigrations(): readonly Migration[] {
  return readMigrationFiles(new URL('./migrations/', import.meta.url));
}

/**
 * Migrates the schema of a database, version by version. A failed migration leaves the database at the
 * previous version. Replicas of the previous version continue meanwhile. A schema of a newer version of
 * Legate is refused and not changed.
 * @example await migrate('postgres://localhost/legate');
 */
export async function migrate(
  options: string | PlaceOptions,
  migrations: readonly Migration[] = readMigrations(),
  { waitMs = longestWaitMs }: { readonly waitMs?: number } = {},
): Promise<MigrationStatus> {
  return withClient(options, async (client, place) => {
    const before = await statusOf(client, migrations, place);
    if (before.pending.length === 0) return before;
    return withClient(options, async (guard) => {
      await lockMigrations(guard, { waitMs, place: place.name });
      // Another replica may have migrated while this one waited.
      const { current, latest } = await statusOf(client, migrations, place);
      await client.query(
        `CREATE SCHEMA IF NOT EXISTS legate;
         CREATE TABLE IF NOT EXISTS legate.migrations (
           version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
         )`,
      );
      for (const migration of migrations) {
        if (migration.version > current)
          await apply(client, { migration, waitMs, place: place.name });
      }
      return { current: Math.max(current, latest), latest, pending: [] };
    });
  });
}

/**
 * Holds the lock until the connection ends. The lock's transaction keeps the lock also behind a pooler.
 * It has no snapshot, because concurrent index builds would wait for that. Rejects with `STORE_FAILED`
 * if another connection holds the lock for longer than `waitMs`.
 */
async function lockMigrations(
  guard: Client,
  { waitMs, place }: { readonly waitMs: number; readonly place: string },
): Promise<void> {
  const start = performance.now();
  for (;;) {
    await guard.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    await guard.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    // Without parameters: the portal of a parameterized query would keep a snapshot.
    const { rows } = await guard.query<{ isLocked: boolean }>(
      `SELECT pg_try_advisory_xact_lock(${migrationLock}) AS "isLocked"`,
    );
    if (rows[0]?.isLocked === true) return;
    await guard.query('ROLLBACK');
    if (performance.now() - start >= waitMs) {
      throw new LegateError(
        'STORE_FAILED',
        `store ${place}: ${await lockHolder(guard)} has been migrating it for more than ` +
          `${waitMs / 1_000} s; wait for its end, or end it, and migrate again: legate db migrate`,
      );
    }
    await sleep(lockPollMs);
  }
}

async function lockHolder(client: Client): Promise<string> {
  const { rows } = await client.query<{ pid: number; name: string }>(
    `SELECT pid, application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = ${migrationLock}
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  const [holder] = rows;
  if (holder === undefined) return 'another replica';
  return `${holder.name || 'a client'} (process ${holder.pid})`;
}

/**
 * The migration status of a database. Changes nothing. Rejects with `STORE_VERSION` for a newer schema.
 */
export function migrationStatus(
  options: string | PlaceOptions,
  migrations: readonly Migration[] = readMigrations(),
): Promise<MigrationStatus> {
  return withClient(options, (client, place) => statusOf(client, migrations, place));
}

/** How far the wall clock of this process is ahead of the database's, in milliseconds. */
export function databaseSkewMs(options: string | PlaceOptions): Promise<number> {
  return withClient(options, async (client) => {
    const text = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now';
    const clock = new DatabaseClock(async () =>
      Number((await client.query<{ now: number }>(text)).rows[0]?.now),
    );
    await clock.measure();
    return clock.skewMs();
  });
}

async function statusOf(
  client: Client,
  migrations: readonly Migration[],
  place: Place,
): Promise<MigrationStatus> {
  const current = await schemaVersion(client);
  const latest = migrations.at(-1)?.version ?? 0;
  if (current > latest) {
    throw new LegateError(
      'STORE_VERSION',
      `store ${place.name}: its schema has version ${current}, and this program knows versions up ` +
        `to ${latest}; use the newer version of the program that wrote it, or another database. ` +
        'Nothing was changed.',
    );
  }
  const pending = migrations.filter(({ version }) => version > current).map(({ name }) => name);
  return { current, latest, pending };
}

async function schemaVersion(client: Client): Promise<number> {
  const found = await client.query<{ exists: boolean }>(
    `SELECT to_regclass('legate.migrations') IS NOT NULL AS exists`,
  );
  if (found.rows[0]?.exists !== true) return 0;
  const versions = await client.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM legate.migrations',
  );
  return versions.rows[0]?.version ?? 0;
}

async function withClient<T>(
  options: string | PlaceOptions,
  work: (client: Client, place: Place) => Promise<T>,
): Promise<T> {
  const place = placeOf(typeof options === 'string' ? { url: options } : options);
  const client = new Client(place.client);
  // A broken connection fails its query. Without a listener, the event would crash the process.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    await endClient(client, place);
    throw sqlState(error) === undefined
      ? unreachable(place.name, error)
      : storeFailure(place.name, error);
  }
  try {
    await checkServer(client, place);
    return await work(client, place);
  } catch (error) {
    throw storeFailure(place.name, error);
  } finally {
    // An open transaction ends with its connection.
    await endClient(client, place);
  }
}

async function checkServer(client: Client, place: Place): Promise<void> {
  const found = await client.query<{ version: number; encoding: string }>(
    `SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_encoding') AS encoding`,
  );
  const { version = 0, encoding = '' } = found.rows[0] ?? {};
  if (version < oldestServer) {
    throw new LegateError(
      'STORE_FAILED',
      `store ${place.name}: PostgreSQL ${Math.floor(version / 10_000)} is too old; 13 or newer is needed`,
    );
  }
  if (encoding !== 'UTF8') {
    throw new LegateError(
      'STORE_FAILED',
      `store ${place.name}: the database has the encoding ${encoding}; create one with ENCODING 'UTF8'`,
    );
  }
}
