import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type JsonValue, LegateError, type Task } from '../../protocol/index.ts';
import type {
  ContextQuery,
  ContextRecord,
  ContextWrite,
  ListedContext,
  LogEvent,
  Snapshot,
  StoreClock,
} from '../contract.ts';
import { endedStates } from '../encoding.ts';
import { fromEventRows, rowLimit, shorten, snapshotFrom, toEventRows } from '../event-rows.ts';
import { OpenContexts, retentionBucket } from '../open-contexts.ts';
import { GroupCommit } from './group-commit.ts';
import { MessageTable, TurnTable } from './turn-table.ts';
import { PushTable } from './push-table.ts';
import { RecordTable } from './record-table.ts';
import { TaskCounts, TaskTable } from './task-table.ts';
import { TaskList } from './task-list.ts';
import { VectorTable } from './vector-table.ts';
import type { Tables, TaskRow } from '../tables.ts';

/**
 * All tables of one store. Their copies in memory (open turns, rows of tasks with a turn in flight,
 * contexts in use) are reloaded from the file after a rollback or a write by another process.
 */
export class SqliteTables implements Tables {
  readonly commits: GroupCommit;
  readonly tasks: TaskTable;
  readonly events: EventTable;
  readonly turns: TurnTable;
  readonly messages: MessageTable;
  readonly contexts: ContextTable;
  readonly openContexts: OpenContexts;
  readonly push: PushTable;
  readonly records: RecordTable;
  readonly vectors: VectorTable;
  readonly list: TaskList;
  readonly #database: DatabaseSync;
  readonly #space: StatementSync;

  constructor(
    database: DatabaseSync,
    options: {
      readonly path: string;
      readonly clock: StoreClock;
      /** Called with every write that failed. */
      readonly onFailure?: (failure: unknown) => void;
    },
  ) {
    const { path, clock, onFailure } = options;
    this.#database = database;
    this.#space = database.prepare(
      `SELECT freelist_count AS free, page_count AS pages
       FROM pragma_freelist_count, pragma_page_count`,
    );
    const counts = new TaskCounts(database);
    // Uses the index: few owners have unfinished tasks, and most tasks have ended.
    const unfinished = database.prepare(
      `SELECT t.agent, t.owner, t.context_id AS contextId FROM task_counts AS c
       CROSS JOIN tasks AS t ON t.owner = c.owner AND t.state = c.state
       WHERE c.tasks > 0 AND c.state NOT IN (${endedStates})`,
    );
    this.openContexts = new OpenContexts(() => {
      counts.write();
      return unfinished.iterate().map((row) => ({
        agent: String(row['agent']),
        owner: String(row['owner']),
        contextId: String(row['contextId']),
      }));
    });
    this.tasks = new TaskTable(database, counts, this.openContexts);
    this.events = new EventTable(database);
    this.turns = new TurnTable(database);
    this.messages = new MessageTable(database);
    this.contexts = new ContextTable(database);
    this.list = new TaskList(database, this.events, counts);
    this.commits = new GroupCommit(database, path, {
      ...(onFailure !== undefined && { onFailure }),
      onForeignWrite: () => this.#invalidate(),
      beforeCommit: () => counts.write(),
      onRollback: () => {
        counts.discard();
        this.#invalidate();
      },
    });
    this.push = new PushTable(database, { commits: this.commits, tasks: this.tasks, clock });
    this.records = new RecordTable(database, this.commits, clock);
    this.vectors = new VectorTable(database, this.commits);
  }

  /** Deletes a task with its log, snapshot and webhooks. Must run inside a transaction. */
  remove(task: TaskRow): void {
    this.push.forget(task);
    this.events.delete(task.number);
    this.tasks.delete(task);
  }

  /** Returns free pages to the file system, some at a time. Must run inside a transaction. */
  releaseSpace(): void {
    const { free, pages } = this.#space.get() ?? {};
    // A store that deletes as much as it writes reuses its free pages.
    if (Number(free) > Number(pages) / 10) {
      this.#database.exec(`PRAGMA incremental_vacuum(${releasedPages})`);
    }
  }

  #invalidate(): void {
    this.turns.invalidate();
    this.tasks.invalidate();
    this.openContexts.invalidate();
  }
}

/** Free pages that one sweep returns: a few times as many as the tasks of one sweep occupied. */
const releasedPages = 256;

/** Entries that one log can hold. Numbers of tasks and contexts up to 2^31 stay exact integers. */
const span = 2 ** 22;

/** The key of entry `sequence` (from 1) in the log of a task or context. */
export function entryKey(number: number, sequence: number): number {
  if (sequence >= span) {
    throw new LegateError(
      'INTERNAL',
      `a log is full: it cannot hold more than ${span - 1} entries; start a new task or context`,
    );
  }
  return number * span + sequence;
}

/** Greater than every key of the log. */
export function lastKey(number: number): number {
  return (number + 1) * span - 1;
}

export function sequenceOf(key: number): number {
  return key % span;
}

const taskStart = '{"task":';

/** The logs of tasks, and their snapshots. Methods that write must run inside a transaction. */
export class EventTable {
  readonly #insert: StatementSync;
  readonly #range: StatementSync;
  readonly #deleteRange: StatementSync;
  readonly #setSnapshot: StatementSync;
  readonly #deleteSnapshot: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO events (key, body) VALUES (?, ?)');
    this.#range = database.prepare(
      'SELECT key, body FROM events WHERE key BETWEEN ? AND ? ORDER BY key',
    );
    this.#deleteRange = database.prepare('DELETE FROM events WHERE key BETWEEN ? AND ?');
    this.#setSnapshot = database.prepare(
      'INSERT OR REPLACE INTO snapshots (task, version, body) VALUES (?, ?, ?)',
    );
    this.#deleteSnapshot = database.prepare('DELETE FROM snapshots WHERE task = ?');
  }

  /** Writes the first event, which is also the first snapshot. */
  create(task: TaskRow, body: Json<Task>): void {
    this.append(task, [{ sequence: 1, body: Json.ofTask(body) }]);
  }

  append(task: TaskRow, events: readonly LogEvent[]): void {
    for (const { sequence, body } of toEventRows(task, events)) {
      this.#insert.run(entryKey(task.number, sequence), body);
    }
  }

  read(task: TaskRow, after: number, limit: number): LogEvent[] {
    // Clamped: an arbitrary number from a caller must not reach the log of another task.
    const from = Math.min(Math.max(0, after), span - 1);
    // A row has the number of its last event, so the last row can end beyond the limit.
    const end = Math.min(from + limit + rowLimit - 1, span - 1);
    const key = task.number * span;
    const rows = this.#range.all(key + from + 1, key + end).map((row) => ({
      sequence: sequenceOf(Number(row['key'])),
      body: String(row['body']),
    }));
    return fromEventRows(task, rows).filter(
      ({ sequence }) => sequence > from && sequence <= from + limit,
    );
  }

  setSnapshot(task: TaskRow, { version, body }: Snapshot): void {
    if (version < snapshotFrom) return;
    this.#setSnapshot.run(task.number, version, shorten(task, body.text));
  }

  /** The task in its first event: the snapshot of a task without a stored snapshot. */
  firstSnapshot([first]: readonly LogEvent[]): Snapshot {
    const body = String(first?.body.text);
    return { version: 1, body: Json.fromText(body.slice(taskStart.length, -1)) };
  }

  delete(task: number): void {
    this.#deleteRange.run(entryKey(task, 0), lastKey(task));
    this.#deleteSnapshot.run(task);
  }
}

/** The context states of agents. Methods that write must run inside a transaction. */
class ContextTable {
  readonly #upsert: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  readonly #insertEntry: StatementSync;
  readonly #entries: StatementSync;
  readonly #deleteEntries: StatementSync;
  readonly #over: StatementSync;
  readonly #list: StatementSync;
  readonly #listOfId: StatementSync;

  constructor(database: DatabaseSync) {
    const listed = `SELECT number, owner, context_id AS contextId, written_until AS retentionBucket FROM contexts
       WHERE (written_until, number) < (?, ?)`;
    const inOrder = 'ORDER BY written_until DESC, number DESC LIMIT ?';
    this.#list = database.prepare(`${listed} ${inOrder}`);
    this.#listOfId = database.prepare(`${listed} AND context_id = ? ${inOrder}`);
    this.#upsert = database.prepare(
      `INSERT INTO contexts (owner, context_id, value, log_length, written_until)
       VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (owner, context_id) DO UPDATE
       SET value = ifnull(excluded.value, value), log_length = log_length + excluded.log_length,
           written_until = excluded.written_until
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
           AND state NOT IN (${endedStates})
       )
       ORDER BY written_until LIMIT ?`,
    );
  }

  write({ owner, contextId, value, log = [] }: ContextWrite, now: number): void {
    const until = retentionBucket(now);
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

  list({ contextId, after, limit }: ContextQuery): ListedContext[] {
    const { retentionBucket, number } = after ?? {
      retentionBucket: Number.MAX_SAFE_INTEGER,
      number: 0,
    };
    const rows =
      contextId === undefined
        ? this.#list.all(retentionBucket, number, limit)
        : this.#listOfId.all(retentionBucket, number, contextId, limit);
    return rows.map((row) => ({
      owner: String(row['owner']),
      contextId: String(row['contextId']),
      retentionBucket: Number(row['retentionBucket']),
      number: Number(row['number']),
    }));
  }

  delete(owner: string, contextId: string): boolean {
    const row = this.#delete.get(owner, contextId);
    if (row === undefined) return false;
    const number = Number(row['number']);
    this.#deleteEntries.run(entryKey(number, 0), lastKey(number));
    return true;
  }

  /**
   * Deletes contexts last written before this time that have no unfinished task. Returns their number.
   */
  sweep(before: number, limit: number): number {
    const over = this.#over.all(before, limit);
    for (const row of over) this.delete(String(row['owner']), String(row['context_id']));
    return over.length;
  }
}
