import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Task } from '../../protocol/index.ts';
import type { LogEvent, Snapshot } from '../contract.ts';
import { entryKey, lastKey, sequenceOf } from './entry-key.ts';

const taskStart = '{"task":';

/** The logs of tasks, and their snapshots. Methods that write must run inside a transaction. */
export class EventTable {
  readonly #insert: StatementSync;
  readonly #range: StatementSync;
  readonly #deleteRange: StatementSync;
  readonly #body: StatementSync;
  readonly #setSnapshot: StatementSync;
  readonly #deleteSnapshot: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO events (key, body) VALUES (?, ?)');
    this.#range = database.prepare(
      'SELECT key, body FROM events WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?',
    );
    this.#deleteRange = database.prepare('DELETE FROM events WHERE key BETWEEN ? AND ?');
    this.#body = database.prepare('SELECT body FROM events WHERE key = ?');
    this.#setSnapshot = database.prepare(
      'INSERT OR REPLACE INTO snapshots (task, version, body) VALUES (?, ?, ?)',
    );
    this.#deleteSnapshot = database.prepare('DELETE FROM snapshots WHERE task = ?');
  }

  /** The first event; it doubles as the first snapshot. */
  begin(task: number, body: Json<Task>): void {
    this.#insert.run(entryKey(task, 1), `${taskStart}${body.text}}`);
  }

  append(task: number, events: readonly LogEvent[]): void {
    for (const { sequence, body } of events) {
      this.#insert.run(entryKey(task, sequence), body.text);
    }
  }

  read(task: number, after: number, limit: number): LogEvent[] {
    // Clamped: a number that a caller made up must not lead into the log of another task.
    const from = entryKey(task, 0) + Math.max(0, after) + 1;
    const rows = this.#range.all(from, lastKey(task), limit);
    return rows.map((row) => ({
      sequence: sequenceOf(Number(row['key'])),
      body: Json.fromText(String(row['body'])),
    }));
  }

  setSnapshot(task: number, snapshot: Snapshot): void {
    this.#setSnapshot.run(task, snapshot.version, snapshot.body.text);
  }

  /** The snapshot of a task that has no other. */
  firstSnapshot(task: number): Snapshot {
    const body = String(this.#body.get(entryKey(task, 1))?.['body']);
    return { version: 1, body: Json.fromText(body.slice(taskStart.length, -1)) };
  }

  delete(task: number): void {
    this.#deleteRange.run(entryKey(task, 0), lastKey(task));
    this.#deleteSnapshot.run(task);
  }
}
