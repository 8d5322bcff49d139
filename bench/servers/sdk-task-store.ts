import { type ListTasksResponse, Task, taskStateToJSON } from '@a2a-js/sdk';
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server';
import { Pool } from 'pg';

const table = `
  CREATE TABLE tasks (
    tenant text NOT NULL, owner text NOT NULL, id text NOT NULL, context_id text NOT NULL,
    status_last_updated bigint NOT NULL, status_state text, status text, artifacts text,
    history text, metadata text, protocol_version text, PRIMARY KEY (tenant, owner, id));
  CREATE INDEX ON tasks (tenant, owner, status_last_updated, id);
  CREATE INDEX ON tasks (tenant, owner, context_id, status_last_updated, id)`;

const save = {
  name: 'save',
  text: `INSERT INTO tasks VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '1.0')
    ON CONFLICT (tenant, owner, id) DO UPDATE SET context_id = excluded.context_id,
      status_last_updated = excluded.status_last_updated, status_state = excluded.status_state,
      status = excluded.status, artifacts = excluded.artifacts, history = excluded.history,
      metadata = excluded.metadata, protocol_version = excluded.protocol_version`,
};
const load = {
  name: 'load',
  text: 'SELECT * FROM tasks WHERE tenant = $1 AND owner = $2 AND id = $3',
};

/**
 * The official SDK's own `DatabaseTaskStore` as far as sends are concerned: its table, its indexes and
 * its statements, one upsert of the whole task for each event. The original builds them with Kysely,
 * which is not installed here; this one prepares them once, and so is no slower.
 */
export class PostgresTaskStore implements TaskStore {
  readonly #pool: Pool;

  private constructor(pool: Pool) {
    this.#pool = pool;
  }

  static async open(url: string): Promise<PostgresTaskStore> {
    const pool = new Pool({ connectionString: url });
    await pool.query(table);
    return new PostgresTaskStore(pool);
  }

  async save(task: Task, context: ServerCallContext): Promise<void> {
    const { status, artifacts, history, metadata } = Task.toJSON(task) as Record<string, unknown>;
    await this.#pool.query({
      ...save,
      values: [
        context.tenant ?? '',
        'unknown',
        task.id,
        task.contextId,
        Date.parse(task.status?.timestamp ?? '') || 0,
        task.status === undefined ? null : taskStateToJSON(task.status.state),
        ...[status, artifacts, history, metadata].map((value) =>
          value === undefined ? null : JSON.stringify(value),
        ),
      ],
    });
  }

  async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    const values = [context.tenant ?? '', 'unknown', taskId];
    const { rows } = await this.#pool.query<Record<string, string | null>>({ ...load, values });
    const [row] = rows;
    if (row === undefined) return undefined;
    const decode = (name: string): unknown => {
      const text = row[name];
      return typeof text === 'string' ? JSON.parse(text) : undefined;
    };
    return Task.fromJSON({
      id: row['id'],
      contextId: row['context_id'],
      status: decode('status'),
      artifacts: decode('artifacts'),
      history: decode('history'),
      metadata: decode('metadata'),
    });
  }

  list(): Promise<ListTasksResponse> {
    return Promise.reject(new Error('nobody lists here'));
  }
}
