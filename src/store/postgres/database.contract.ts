import { Client } from 'pg';
import { postgres } from '../../../test/support/postgres.ts';
import { migrate } from './migrations.ts';

let shared: Promise<string> | undefined;

/** The address of a database with an empty store: always the same one, as new ones are slow to make. */
export async function emptyDatabase(): Promise<string> {
  shared ??= create();
  const url = await shared;
  await query(
    url,
    `DELETE FROM test.clock;
     DO $$
     DECLARE
       place record;
     BEGIN
       FOR place IN SELECT table_name FROM information_schema.tables
         WHERE table_schema = 'legate' AND table_type = 'BASE TABLE'
           AND table_name <> 'migrations' LOOP
         EXECUTE format('DELETE FROM legate.%I', place.table_name);
       END LOOP;
       FOR place IN SELECT oid FROM pg_class
         WHERE relkind = 'S' AND relnamespace = 'legate'::regnamespace LOOP
         PERFORM setval(place.oid::regclass, 1, false);
       END LOOP;
     END $$`,
  );
  return url;
}

async function create(): Promise<string> {
  const server = await postgres();
  const url = await server.database();
  await migrate(url);
  // The clock of the database, until a test sets it.
  await query(
    url,
    `CREATE SCHEMA test;
     CREATE TABLE test.clock (time bigint NOT NULL);
     ALTER FUNCTION legate.clock() RENAME TO clock_of_server;
     CREATE FUNCTION legate.clock() RETURNS bigint LANGUAGE sql STABLE AS $$
       SELECT coalesce((SELECT time FROM test.clock), legate.clock_of_server())
     $$`,
  );
  return url;
}

/** Sets the clock of a database that `emptyDatabase` gave, until it is given again. */
export async function setDatabaseTime(url: string, time: number): Promise<void> {
  await query(url, 'WITH old AS (DELETE FROM test.clock) INSERT INTO test.clock VALUES ($1)', [
    time,
  ]);
}

/** Lets the database answer as one does whose disk is full. */
export async function setDatabaseFull(url: string, isFull: boolean): Promise<void> {
  for (const table of ['event_rows', 'records', 'replicas']) {
    await query(
      url,
      isFull
        ? `CREATE OR REPLACE FUNCTION legate.test_full() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE disk_full; END $$;
           CREATE OR REPLACE TRIGGER test_full BEFORE INSERT ON legate.${table}
             EXECUTE FUNCTION legate.test_full()`
        : `DROP TRIGGER IF EXISTS test_full ON legate.${table}`,
    );
  }
}

/** Asks a database directly. */
export async function query<R extends object>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
