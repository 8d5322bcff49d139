import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Task } from '../../protocol/index.ts';
import type { Snapshot, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { stateNumber } from '../encoding.ts';
import type { EventTable } from './sqlite-tables.ts';
import { type TaskCounts, toTaskRow } from './task-table.ts';

const recordColumns = `t.number, t.id, t.agent, t.owner, t.context_id AS contextId, t.state,
  t.status_time AS statusTime, t.version, t.cancel_requested AS cancelRequested,
  t.push_configs AS pushConfigs, s.version AS snapshotVersion, s.body AS snapshot`;
const recordTables = 'tasks AS t LEFT JOIN snapshots AS s ON s.task = t.number';

const order = 'ORDER BY t.status_time DESC, t.id DESC';

/** No index has the order over all owners: what is sorted are numbers, and not whole records. */
function overAll(where: string): string {
  return `SELECT ${recordColumns} FROM ${recordTables} WHERE t.number IN (
    SELECT t.number FROM tasks AS t WHERE ${where} ${order} LIMIT ?
  ) ${order}`;
}

type Parameter = string | number;

/** Reads whole task records, alone and in pages. */
export class TaskList {
  readonly #database: DatabaseSync;
  readonly #events: EventTable;
  readonly #counts: TaskCounts;
  readonly #load: StatementSync;
  /** One statement per combination of filters. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, events: EventTable, counts: TaskCounts) {
    this.#database = database;
    this.#events = events;
    this.#counts = counts;
    this.#load = database.prepare(`SELECT ${recordColumns} FROM ${recordTables} WHERE t.id = ?`);
  }

  load(taskId: string): TaskRecord | undefined {
    const row = this.#load.get(taskId);
    return row === undefined ? undefined : this.#toRecord(row);
  }

  page(query: TaskQuery): TaskPage {
    const filter = toFilter(query);
    const total = this.#total(query, filter);
    if (total === 0) return { records: [], total, more: false };

    const conditions = [...filter.conditions];
    const parameters = [...filter.parameters];
    if (query.after !== undefined) {
      conditions.push('(t.status_time, t.id) < (?, ?)');
      parameters.push(query.after.statusTime, query.after.id);
    }
    // No more rows than match at all: a walk through the index ends with the last match.
    const limit = Math.min(query.limit + 1, total);
    const where = conditions.join(' AND ');
    const rows = this.#prepare(
      query.owner === undefined
        ? overAll(where)
        : `SELECT ${recordColumns} FROM ${recordTables} WHERE ${where} ${order} LIMIT ?`,
    ).all(...parameters, limit);
    return {
      records: rows.slice(0, query.limit).map((row) => this.#toRecord(row)),
      total,
      more: rows.length > query.limit,
    };
  }

  #total(query: TaskQuery, { conditions, parameters }: Filter): number {
    if (query.contextId === undefined && query.statusTimeFrom === undefined) {
      const state = query.state === undefined ? undefined : stateNumber(query.state);
      return this.#counts.total(query.owner, state);
    }
    const sql = `SELECT count(*) AS n FROM tasks AS t WHERE ${conditions.join(' AND ')}`;
    return Number(this.#prepare(sql).get(...parameters)?.['n']);
  }

  #toRecord(fields: NonNullable<ReturnType<StatementSync['get']>>): TaskRecord {
    const row = toTaskRow(fields);
    const version = fields['snapshotVersion'];
    const snapshot: Snapshot =
      typeof version === 'number'
        ? { version, body: Json.fromText<Task>(String(fields['snapshot'])) }
        : this.#events.firstSnapshot(row.number);
    return {
      id: row.id,
      owner: row.owner,
      contextId: row.contextId,
      state: row.state,
      version: row.version,
      statusTime: row.statusTime,
      cancelRequested: row.cancelRequested,
      hasPush: row.pushConfigs > 0,
      snapshot,
      tail:
        row.version > snapshot.version
          ? this.#events.read(row.number, snapshot.version, row.version - snapshot.version)
          : [],
    };
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      this.#statements.set(sql, (statement = this.#database.prepare(sql)));
    }
    return statement;
  }
}

interface Filter {
  readonly conditions: readonly string[];
  readonly parameters: readonly Parameter[];
}

function toFilter(query: TaskQuery): Filter {
  // The plus keeps the planner from the owner's index where the context's is the shorter way.
  const ofOwner = query.contextId === undefined ? 't.owner = ?' : '+t.owner = ?';
  const conditions = query.owner === undefined ? ['TRUE'] : [ofOwner];
  const parameters: Parameter[] = query.owner === undefined ? [] : [query.owner];
  if (query.contextId !== undefined) {
    conditions.push('t.context_id = ?');
    parameters.push(query.contextId);
  }
  if (query.state !== undefined) {
    // The plus keeps the planner from the index of ended tasks.
    conditions.push('+t.state = ?');
    parameters.push(stateNumber(query.state));
  }
  if (query.statusTimeFrom !== undefined) {
    conditions.push('t.status_time >= ?');
    parameters.push(query.statusTimeFrom);
  }
  return { conditions, parameters };
}
