import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Json, type Task } from '../../protocol/index.ts';
import type { TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { isEndedState, listedStates, totalLimit } from '../encoding.ts';
import { expand } from '../event-rows.ts';
import type { EventTable } from './sqlite-tables.ts';
import { type TaskCounts, toTaskRow } from './task-table.ts';

const record = `SELECT t.number, t.id, t.agent, t.owner, t.context_id AS contextId, t.state,
  t.status_time AS statusTime, t.version, t.cancel_requested AS cancelRequested,
  t.push_configs AS pushConfigs, s.version AS snapshotVersion, s.body AS snapshot
  FROM tasks AS t LEFT JOIN snapshots AS s ON s.task = t.number`;

type Parameter = string | number;
type Row = NonNullable<ReturnType<StatementSync['get']>>;

/** Reads whole task records, alone and in pages. */
export class TaskList {
  readonly #database: DatabaseSync;
  readonly #events: EventTable;
  readonly #counts: TaskCounts;
  readonly #load: StatementSync;
  readonly #loadNumber: StatementSync;
  /** One statement per combination of filters. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, events: EventTable, counts: TaskCounts) {
    this.#database = database;
    this.#events = events;
    this.#counts = counts;
    this.#load = database.prepare(`${record} WHERE t.id = ?`);
    this.#loadNumber = database.prepare(`${record} WHERE t.number = ?`);
  }

  load(taskId: string): TaskRecord | undefined {
    const row = this.#load.get(taskId);
    return row === undefined ? undefined : this.#toRecord(row);
  }

  page(query: TaskQuery): TaskPage {
    let total = 0;
    const found: Row[] = [];
    // Each source is ordered by an index; the page merges their first rows.
    for (const source of sourcesOf(query)) {
      const matches = this.#total(query, source);
      total += matches;
      // At most as many rows as match, so that the index scan stops at the last match.
      if (matches > 0) found.push(...this.#find(query, source, Math.min(query.limit + 1, matches)));
    }
    const rows = found.sort(latestFirst).slice(0, query.limit);
    return {
      records: rows.flatMap(({ number }) => {
        const row = this.#loadNumber.get(Number(number));
        return row === undefined ? [] : [this.#toRecord(row)];
      }),
      total: isCounted(query) ? total : Math.min(total, totalLimit),
      more: found.length > query.limit,
    };
  }

  #find({ after }: TaskQuery, { rows, parameters }: Source, limit: number): Row[] {
    const isBefore = after === undefined ? '' : ' AND (t.status_time, t.id) < (?, ?)';
    const position = after === undefined ? [] : [after.statusTime, after.id];
    const order = 'ORDER BY t.status_time DESC, t.id DESC LIMIT ?';
    return this.#prepare(
      `SELECT t.number, t.status_time AS statusTime, t.id FROM ${rows}${isBefore} ${order}`,
    ).all(...parameters, ...position, limit);
  }

  #total(query: TaskQuery, { states, rows, parameters }: Source): number {
    if (isCounted(query)) {
      return states.reduce((sum, state) => sum + this.#counts.total(query.owner, state), 0);
    }
    const matches = `SELECT 1 FROM ${rows} LIMIT ${totalLimit}`;
    const counted = this.#prepare(`SELECT count(*) AS n FROM (${matches})`).get(...parameters);
    return Number(counted?.['n']);
  }

  #toRecord(fields: Row): TaskRecord {
    const row = toTaskRow(fields);
    const version = fields['snapshotVersion'];
    const isStored = typeof version === 'number';
    const after = isStored ? version : 0;
    const log = row.version > after ? this.#events.read(row, after, row.version - after) : [];
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
      snapshot: isStored
        ? { version, body: Json.fromText<Task>(expand(row, String(fields['snapshot']))) }
        : this.#events.firstSnapshot(log),
      tail: isStored ? log : log.slice(1),
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

/** Whether the counts of tasks by owner and state are the total. */
function isCounted({ contextId, statusTimeFrom }: TaskQuery): boolean {
  return contextId === undefined && statusTimeFrom === undefined;
}

function latestFirst(a: Row, b: Row): number {
  const time = Number(b['statusTime']) - Number(a['statusTime']);
  return time === 0 ? (String(a['id']) < String(b['id']) ? 1 : -1) : time;
}

/** Rows of `tasks` in the order of one index. */
interface Source {
  /** The state numbers of the tasks. */
  readonly states: readonly number[];
  /** Tables and conditions of a SELECT. */
  readonly rows: string;
  readonly parameters: readonly Parameter[];
}

function sourcesOf(query: TaskQuery): Source[] {
  const states = listedStates(query);
  if (query.owner !== undefined || query.contextId !== undefined) {
    return states.map((state) => sourceOf(query, state));
  }
  const open = states.filter((state) => !isEndedState(state));
  const ended = states.filter(isEndedState);
  return [
    ...open.map((state) => openOfAll(query, state)),
    ...(ended.length === 0 ? [] : [endedOfAll(query, ended)]),
  ];
}

/** Tasks of one state of an owner, of a context, or of both. */
function sourceOf({ owner, contextId, statusTimeFrom }: TaskQuery, state: number): Source {
  const index = contextId === undefined ? 'tasks_by_state' : 'tasks_by_context';
  const filters: [string, Parameter | undefined][] = [
    ['t.context_id = ?', contextId],
    // The plus excludes the condition from the choice of the index.
    [contextId === undefined ? 't.owner = ?' : '+t.owner = ?', owner],
    ['t.state = ?', state],
    ['t.status_time >= ?', statusTimeFrom],
  ];
  const used = filters.flatMap(([condition, value]) =>
    value === undefined ? [] : [{ condition, value }],
  );
  const conditions = used.map(({ condition }) => condition).join(' AND ');
  return {
    states: [state],
    rows: `tasks AS t INDEXED BY ${index} WHERE ${conditions}`,
    parameters: used.map(({ value }) => value),
  };
}

/** Open tasks of all owners: few, and sorted. */
function openOfAll({ statusTimeFrom = Number.MIN_SAFE_INTEGER }: TaskQuery, state: number): Source {
  return {
    states: [state],
    rows: `task_counts AS c CROSS JOIN tasks AS t INDEXED BY tasks_by_state
      ON t.owner = c.owner AND t.state = c.state
      WHERE c.state = ? AND c.tasks > 0 AND t.status_time >= ?`,
    parameters: [state, statusTimeFrom],
  };
}

function endedOfAll(
  { statusTimeFrom = Number.MIN_SAFE_INTEGER }: TaskQuery,
  states: readonly number[],
): Source {
  return {
    states,
    // The condition of the partial index.
    rows: `tasks AS t INDEXED BY tasks_over
      WHERE t.state >= 3 AND t.state <> 6 AND t.state <> 8
        AND t.status_time >= ? AND +t.state IN (${states.join(', ')})`,
    parameters: [statusTimeFrom],
  };
}
