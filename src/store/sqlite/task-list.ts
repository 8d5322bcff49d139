import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Task } from '../../protocol/index.ts';
import type { Snapshot, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { listedStates } from '../encoding.ts';
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
    // Each state has its own order in the index; the page is merged from their beginnings.
    const filters = filtersOf(query);
    const totals = filters.map((filter) => this.#total(query, filter));
    const total = totals.reduce((sum, each) => sum + each, 0);
    const rows = filters
      .flatMap((filter, index) => this.#rows(query, filter, totals[index] ?? 0))
      .sort(latestFirst);
    return {
      records: rows.slice(0, query.limit).map((row) => this.#toRecord(row)),
      total,
      more: rows.length > query.limit,
    };
  }

  #rows(query: TaskQuery, filter: Filter, total: number): Row[] {
    if (total === 0) return [];
    const conditions = [...filter.conditions];
    const parameters = [...filter.parameters];
    if (query.after !== undefined) {
      conditions.push('(t.status_time, t.id) < (?, ?)');
      parameters.push(query.after.statusTime, query.after.id);
    }
    // No more rows than match at all: a walk through the index ends with the last match.
    const limit = Math.min(query.limit + 1, total);
    const where = conditions.join(' AND ');
    return this.#prepare(
      query.owner === undefined
        ? overAll(where)
        : `SELECT ${recordColumns} FROM ${recordTables} WHERE ${where} ${order} LIMIT ?`,
    ).all(...parameters, limit);
  }

  #total(query: TaskQuery, { state, conditions, parameters }: Filter): number {
    if (query.contextId === undefined && query.statusTimeFrom === undefined) {
      return this.#counts.total(query.owner, state);
    }
    const sql = `SELECT count(*) AS n FROM tasks AS t WHERE ${conditions.join(' AND ')}`;
    return Number(this.#prepare(sql).get(...parameters)?.['n']);
  }

  #toRecord(fields: Row): TaskRecord {
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
      isSuperseded: row.isSuperseded,
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

type Row = NonNullable<ReturnType<StatementSync['get']>>;

function latestFirst(a: Row, b: Row): number {
  const time = Number(b['statusTime']) - Number(a['statusTime']);
  return time === 0 ? (String(a['id']) < String(b['id']) ? 1 : -1) : time;
}

interface Filter {
  /** The number of the only state; undefined for all of them. */
  readonly state: number | undefined;
  readonly conditions: readonly string[];
  readonly parameters: readonly Parameter[];
}

/** One filter for all states, or one for each that is asked for. */
function filtersOf(query: TaskQuery): readonly Filter[] {
  const isAll = query.state === undefined && query.isOpen !== true;
  return isAll ? [toFilter(query)] : listedStates(query).map((state) => toFilter(query, state));
}

function toFilter(query: TaskQuery, state?: number): Filter {
  // The plus keeps the planner from the owner's index where the context's is the shorter way.
  const ofOwner = query.contextId === undefined ? 't.owner = ?' : '+t.owner = ?';
  const conditions = query.owner === undefined ? ['TRUE'] : [ofOwner];
  const parameters: Parameter[] = query.owner === undefined ? [] : [query.owner];
  if (query.contextId !== undefined) {
    conditions.push('t.context_id = ?');
    parameters.push(query.contextId);
  }
  if (state !== undefined) {
    // The plus keeps the planner from the index of ended tasks.
    conditions.push('+t.state = ?');
    parameters.push(state);
  }
  if (query.statusTimeFrom !== undefined) {
    conditions.push('t.status_time >= ?');
    parameters.push(query.statusTimeFrom);
  }
  return { state, conditions, parameters };
}
