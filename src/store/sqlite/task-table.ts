import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isTerminal, LegateError, type TaskState } from '../../protocol/index.ts';
import type { Admission } from '../contract.ts';
import { isUnfinished, rowState, stateOf, SUPERSEDED } from '../encoding.ts';
import type { OpenContexts } from '../open-contexts.ts';
import { isConstraint } from './failure.ts';
import { newTaskRow, type TaskRow } from '../tables.ts';

/** Cached rows of active tasks, so that an event costs no lookup. */
const cacheLimit = 2_000;

const columns = `number, id, agent, owner, context_id AS contextId, state, status_time AS statusTime, version,
  cancel_requested AS cancelRequested, push_configs AS pushConfigs`;

/** The rows of `tasks` with their counts. Methods that write must run inside a transaction. */
export class TaskTable {
  readonly #counts: TaskCounts;
  readonly #contexts: OpenContexts;
  readonly #insert: StatementSync;
  readonly #lastNumber: StatementSync;
  readonly #select: StatementSync;
  readonly #setVersion: StatementSync;
  readonly #setStatus: StatementSync;
  readonly #setCancel: StatementSync;
  readonly #setPush: StatementSync;
  readonly #delete: StatementSync;
  readonly #over: StatementSync;
  readonly #cache = new Map<string, TaskRow>();
  #last: number | undefined;

  constructor(database: DatabaseSync, counts: TaskCounts, contexts: OpenContexts) {
    this.#counts = counts;
    this.#contexts = contexts;
    this.#insert = database.prepare(
      `INSERT INTO tasks (number, id, agent, owner, context_id, state, status_time, version, cancel_requested, push_configs)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#lastNumber = database.prepare('SELECT max(number) AS number FROM tasks');
    this.#select = database.prepare(`SELECT ${columns} FROM tasks WHERE id = ?`);
    this.#setVersion = database.prepare('UPDATE tasks SET version = ? WHERE number = ?');
    this.#setStatus = database.prepare(
      'UPDATE tasks SET version = ?, state = ?, status_time = ? WHERE number = ?',
    );
    this.#setCancel = database.prepare('UPDATE tasks SET cancel_requested = 1 WHERE number = ?');
    this.#setPush = database.prepare('UPDATE tasks SET push_configs = ? WHERE number = ?');
    this.#delete = database.prepare('DELETE FROM tasks WHERE number = ?');
    this.#over = database.prepare(
      `SELECT ${columns} FROM tasks WHERE state >= 3 AND state <> 6 AND state <> 8 AND status_time < ? AND NOT EXISTS (
         SELECT 1 FROM push_configs AS c JOIN deliveries AS d ON d.config = c.number AND d.is_dead = 0
         WHERE tasks.push_configs > 0 AND c.task = tasks.number
       ) ORDER BY status_time LIMIT ?`,
    );
  }

  find(id: string): TaskRow | undefined {
    const known = this.#cache.get(id);
    if (known !== undefined) return known;
    const found = this.#select.get(id);
    if (found === undefined) return undefined;
    const row = toTaskRow(found);
    this.#keep(row);
    return row;
  }

  insert(admission: Admission, state: TaskState): TaskRow {
    this.#last ??= Number(this.#lastNumber.get()?.['number'] ?? 0);
    const row = newTaskRow((this.#last += 1), admission, state);
    this.#writeNew(row);
    this.#keep(row);
    this.#counts.change(row.owner, rowState(row), 1);
    if (isUnfinished(row)) this.#contexts.add(row);
    return row;
  }

  advance(
    row: TaskRow,
    to: Pick<TaskRow, 'version' | 'state' | 'statusTime' | 'isSuperseded'>,
  ): void {
    const { version, statusTime } = to;
    const [from, number] = [rowState(row), rowState(to)];
    if (number === from && statusTime === row.statusTime) {
      if (version !== row.version) this.#setVersion.run(version, row.number);
      row.version = version;
      return;
    }
    this.#setStatus.run(version, number, statusTime, row.number);
    if (number !== from) {
      this.#counts.change(row.owner, from, -1);
      this.#counts.change(row.owner, number, 1);
    }
    const wasUnfinished = isUnfinished(row);
    Object.assign(row, to);
    if (wasUnfinished !== isUnfinished(row)) {
      if (wasUnfinished) this.#contexts.remove(row);
      else this.#contexts.add(row);
    }
    if (isTerminal(row.state)) this.#cache.delete(row.id);
  }

  requestCancel(row: TaskRow): void {
    if (row.cancelRequested) return;
    this.#setCancel.run(row.number);
    row.cancelRequested = true;
  }

  setPushConfigs(row: TaskRow, count: number): void {
    this.#setPush.run(count, row.number);
    row.pushConfigs = count;
  }

  delete(row: TaskRow): void {
    this.#delete.run(row.number);
    this.#cache.delete(row.id);
    this.#counts.change(row.owner, rowState(row), -1);
    if (isUnfinished(row)) this.#contexts.remove(row);
  }

  /** Terminal and superseded tasks whose status changed before a time, without pending deliveries. */
  expired(before: number, limit: number): TaskRow[] {
    return this.#over.all(before, limit).map(toTaskRow);
  }

  /** Discards cached rows, which may differ from the file. */
  invalidate(): void {
    this.#cache.clear();
    this.#last = undefined;
  }

  #writeNew(row: TaskRow): void {
    try {
      this.#insert.run(
        row.number,
        row.id,
        row.agent,
        row.owner,
        row.contextId,
        rowState(row),
        row.statusTime,
        row.version,
        row.cancelRequested ? 1 : 0,
        row.pushConfigs,
      );
    } catch (error) {
      if (!isConstraint(error)) throw error;
      throw new LegateError('INTERNAL', `task ${row.id} exists already`, { cause: error });
    }
  }

  #keep(row: TaskRow): void {
    if (isTerminal(row.state)) return;
    if (this.#cache.size >= cacheLimit) {
      for (const oldest of this.#cache.keys()) {
        this.#cache.delete(oldest);
        break;
      }
    }
    this.#cache.set(row.id, row);
  }
}

export function toTaskRow(row: NonNullable<ReturnType<StatementSync['get']>>): TaskRow {
  return {
    number: Number(row['number']),
    id: String(row['id']),
    agent: String(row['agent']),
    owner: String(row['owner']),
    contextId: String(row['contextId']),
    state: stateOf(row['state']),
    statusTime: Number(row['statusTime']),
    version: Number(row['version']),
    cancelRequested: row['cancelRequested'] === 1,
    isSuperseded: row['state'] === SUPERSEDED,
    pushConfigs: Number(row['pushConfigs']),
  };
}

/**
 * Counts tasks by owner and state. The changes of one transaction are collected and written at its end.
 */
export class TaskCounts {
  readonly #add: StatementSync;
  readonly #ofOwner: StatementSync;
  readonly #ofState: StatementSync;
  readonly #ofAll: StatementSync;
  readonly #ofAllInState: StatementSync;
  readonly #changes = new Map<string, number[]>();

  constructor(database: DatabaseSync) {
    this.#add = database.prepare(
      `INSERT INTO task_counts (owner, state, tasks) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks`,
    );
    this.#ofOwner = database.prepare('SELECT sum(tasks) AS n FROM task_counts WHERE owner = ?');
    this.#ofState = database.prepare(
      'SELECT tasks AS n FROM task_counts WHERE owner = ? AND state = ?',
    );
    this.#ofAll = database.prepare('SELECT sum(tasks) AS n FROM task_counts');
    this.#ofAllInState = database.prepare(
      'SELECT sum(tasks) AS n FROM task_counts WHERE state = ?',
    );
  }

  change(owner: string, state: number, by: number): void {
    let changes = this.#changes.get(owner);
    if (changes === undefined) this.#changes.set(owner, (changes = []));
    changes[state] = (changes[state] ?? 0) + by;
  }

  write(): void {
    if (this.#changes.size === 0) return;
    for (const [owner, changes] of this.#changes) {
      // Sparse: only changed states have an entry.
      changes.forEach((by, state) => {
        if (by !== 0) this.#add.run(owner, state, by);
      });
    }
    this.#changes.clear();
  }

  discard(): void {
    this.#changes.clear();
  }

  /** Without an owner: of all owners. */
  total(owner: string | undefined, state?: number): number {
    return Number(this.#count(owner, state)?.['n'] ?? 0);
  }

  #count(owner: string | undefined, state?: number): ReturnType<StatementSync['get']> {
    if (owner === undefined) {
      return state === undefined ? this.#ofAll.get() : this.#ofAllInState.get(state);
    }
    return state === undefined ? this.#ofOwner.get(owner) : this.#ofState.get(owner, state);
  }
}
