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
    `DO $$
     DECLARE
       place record;
     BEGIN
       FOR place IN SELECT table_name FROM information_schema.tables
         WHERE table_schema = 'legate' AND table_name <> 'migrations' LOOP
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
  return url;
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
