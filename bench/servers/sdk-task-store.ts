import type { TaskStore } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely';
import { Pool } from 'pg';

/** The tables of the official SDK's migrations. */
const table = `
  CREATE TABLE tasks (
    tenant text NOT NULL, owner text NOT NULL, id text NOT NULL, context_id text NOT NULL,
    status_last_updated bigint NOT NULL, status_state text, status text, artifacts text,
    history text, metadata text, protocol_version text, PRIMARY KEY (tenant, owner, id));
  CREATE INDEX by_time ON tasks (tenant, owner, status_last_updated, id);
  CREATE INDEX by_context ON tasks (tenant, owner, context_id, status_last_updated, id)`;

/** Opens the official SDK's own store on an empty database: a PostgreSQL URL or a SQLite file. */
export function openSdkStore(location: string): Promise<TaskStore> {
  return location.includes('://') ? openPostgres(location) : openSqlite(location);
}

async function openPostgres(url: string): Promise<TaskStore> {
  const pool = new Pool({ connectionString: url });
  await pool.query(table);
  return new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }));
}

/**
 * As durable as ours: each commit is flushed. Kysely expects the API of better-sqlite3, which Node's
 * resembles.
 */
async function openSqlite(path: string): Promise<TaskStore> {
  // The machine's Node can lack SQLite.
  const { DatabaseSync } = await import('node:sqlite');
  const file = new DatabaseSync(path);
  file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  file.exec(table);
  const database = {
    close: () => file.close(),
    prepare(sql: string) {
      const statement = file.prepare(sql);
      type Values = Parameters<typeof statement.run>;
      return {
        reader: statement.columns().length > 0,
        all: (values: readonly unknown[]) => statement.all(...(values as Values)),
        run: (values: readonly unknown[]) => statement.run(...(values as Values)),
        iterate: (values: readonly unknown[]) => statement.iterate(...(values as Values)),
      };
    },
  };
  return new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database }) }));
}
