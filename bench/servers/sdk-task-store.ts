import type { TaskStore } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';

/** As the official SDK's migrations make it. */
const table = `
  CREATE TABLE tasks (
    tenant text NOT NULL, owner text NOT NULL, id text NOT NULL, context_id text NOT NULL,
    status_last_updated bigint NOT NULL, status_state text, status text, artifacts text,
    history text, metadata text, protocol_version text, PRIMARY KEY (tenant, owner, id));
  CREATE INDEX ON tasks (tenant, owner, status_last_updated, id);
  CREATE INDEX ON tasks (tenant, owner, context_id, status_last_updated, id)`;

/** The official SDK's own store, on an empty database. */
export async function openSdkStore(url: string): Promise<TaskStore> {
  const pool = new Pool({ connectionString: url });
  await pool.query(table);
  return new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }));
}
