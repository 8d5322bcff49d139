import { Json, type JsonValue } from '../../protocol/index.ts';
import type { ContextQuery, ContextRecord, ContextWrite, ListedContext } from '../contract.ts';
import type { Connections } from './open-postgres.ts';
import type { Value } from './statement.ts';

const statements = {
  read: {
    name: 'context_read',
    text: 'SELECT value, log_length FROM legate.contexts WHERE owner = $1 AND context_id = $2',
  },
  readLog: {
    name: 'context_read_log',
    text: `SELECT entry.body FROM legate.contexts
      JOIN legate.context_log AS entry ON entry.context = contexts.number
      WHERE contexts.owner = $1 AND contexts.context_id = $2
        AND entry.sequence > contexts.log_length - $3::bigint
      ORDER BY entry.sequence`,
  },
  list: {
    name: 'context_list',
    text: `SELECT number, owner, context_id, written_until FROM legate.contexts
      WHERE written_until IS NOT NULL AND ($1::text IS NULL OR context_id = $1)
        AND ($2::bigint IS NULL OR (written_until, number) < ($2::bigint, $3::bigint))
      ORDER BY written_until DESC, number DESC LIMIT $4`,
  },
  delete: {
    name: 'context_delete',
    text: `WITH gone AS (
        DELETE FROM legate.contexts WHERE owner = $1 AND context_id = $2 RETURNING number
      ), entries AS (
        DELETE FROM legate.context_log USING gone WHERE context_log.context = gone.number
      )
      SELECT number FROM gone`,
  },
};

/** The context states of agents. */
export class ContextTable {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async read(owner: string, contextId: string): Promise<ContextRecord | undefined> {
    const [row] = await this.#connections.reads.read(statements.read, [owner, contextId]);
    if (row === undefined) return undefined;
    const value = row['value'];
    return {
      value: typeof value === 'string' ? Json.fromText<JsonValue>(value) : undefined,
      logLength: Number(row['log_length']),
    };
  }

  async readLog(owner: string, contextId: string, last?: number): Promise<Json<JsonValue>[]> {
    const values = [owner, contextId, last ?? Number.MAX_SAFE_INTEGER];
    const rows = await this.#connections.reads.read(statements.readLog, values);
    return rows.map((row) => Json.fromText<JsonValue>(String(row['body'])));
  }

  async list({ contextId, after, limit }: ContextQuery): Promise<readonly ListedContext[]> {
    const values = [
      contextId ?? null,
      after?.retentionBucket ?? null,
      after?.number ?? null,
      limit,
    ];
    const rows = await this.#connections.reads.read(statements.list, values);
    return rows.map((row) => ({
      owner: String(row['owner']),
      contextId: String(row['context_id']),
      retentionBucket: Number(row['written_until']),
      number: Number(row['number']),
    }));
  }

  async delete(owner: string, contextId: string): Promise<boolean> {
    const rows = await this.#connections.writes.write(statements.delete, [owner, contextId]);
    return rows.length > 0;
  }
}

export const contextTypes = 'text, text, text, text[]';

/** Owner, context, value and new entries: the parameters of `write_context`. */
export function contextValues({ owner, contextId, value, log = [] }: ContextWrite): Value[] {
  return [owner, contextId, value?.text ?? null, log.map(({ text }) => text)];
}
