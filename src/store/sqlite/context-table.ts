import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type JsonValue } from '../../protocol/index.ts';
import type { ContextRecord, ContextWrite } from '../contract.ts';
import { retentionBucket } from '../open-contexts.ts';
import { terminalStates } from '../task-states.ts';
import { entryKey, lastKey } from './entry-key.ts';

/** What agents keep of conversations. Methods that write must run inside a transaction. */
export class ContextTable {
  readonly #upsert: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  readonly #insertEntry: StatementSync;
  readonly #entries: StatementSync;
  readonly #deleteEntries: StatementSync;
  readonly #over: StatementSync;

  constructor(database: DatabaseSync) {
    this.#upsert = database.prepare(
      `INSERT INTO contexts (owner, context_id, value, log_length, written_until)
       VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (owner, context_id) DO UPDATE
       SET value = ifnull(excluded.value, value), log_length = log_length + excluded.log_length,
           written_until = ifnull(excluded.written_until, written_until)
       RETURNING number, log_length`,
    );
    this.#select = database.prepare(
      'SELECT number, value, log_length FROM contexts WHERE owner = ? AND context_id = ?',
    );
    this.#delete = database.prepare(
      'DELETE FROM contexts WHERE owner = ? AND context_id = ? RETURNING number',
    );
    this.#insertEntry = database.prepare('INSERT INTO context_log (key, body) VALUES (?, ?)');
    this.#entries = database.prepare(
      'SELECT body FROM context_log WHERE key BETWEEN ? AND ? ORDER BY key',
    );
    this.#deleteEntries = database.prepare('DELETE FROM context_log WHERE key BETWEEN ? AND ?');
    this.#over = database.prepare(
      `SELECT owner, context_id FROM contexts
       WHERE written_until <= ? AND NOT EXISTS (
         SELECT 1 FROM tasks
         WHERE tasks.context_id = contexts.context_id AND tasks.owner = contexts.owner
           AND state NOT IN (${terminalStates})
       )
       ORDER BY written_until LIMIT ?`,
    );
  }

  write({ owner, contextId, value, log = [], now }: ContextWrite): void {
    const until = retentionBucket(now) ?? null;
    const row = this.#upsert.get(owner, contextId, value?.text ?? null, log.length, until);
    const number = Number(row?.['number']);
    let sequence = Number(row?.['log_length']) - log.length;
    for (const entry of log) {
      sequence += 1;
      this.#insertEntry.run(entryKey(number, sequence), entry.text);
    }
  }

  read(owner: string, contextId: string): ContextRecord | undefined {
    const row = this.#select.get(owner, contextId);
    if (row === undefined) return undefined;
    const value = row['value'];
    return {
      value: typeof value === 'string' ? Json.fromText<JsonValue>(value) : undefined,
      logLength: Number(row['log_length']),
    };
  }

  readLog(owner: string, contextId: string, last: number | undefined): Json<JsonValue>[] {
    const row = this.#select.get(owner, contextId);
    if (row === undefined) return [];
    const number = Number(row['number']);
    const skipped = last === undefined ? 0 : Math.max(0, Number(row['log_length']) - last);
    const rows = this.#entries.all(entryKey(number, skipped + 1), lastKey(number));
    return rows.map((entry) => Json.fromText<JsonValue>(String(entry['body'])));
  }

  delete(owner: string, contextId: string): boolean {
    const row = this.#delete.get(owner, contextId);
    if (row === undefined) return false;
    const number = Number(row['number']);
    this.#deleteEntries.run(entryKey(number, 0), lastKey(number));
    return true;
  }

  /** Deletes contexts last written before this time that have no unfinished task, and counts them. */
  sweep(before: number, limit: number): number {
    const over = this.#over.all(before, limit);
    for (const row of over) this.delete(String(row['owner']), String(row['context_id']));
    return over.length;
  }
}
