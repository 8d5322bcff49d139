import {
  isTerminal,
  Json,
  type StreamResponse,
  type Task,
  taskStates,
} from '../../protocol/index.ts';
import type { LogEvent, Snapshot, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { endedStates, listedStates, stateOf, SUPERSEDED, terminalStates } from '../encoding.ts';
import type { Pipeline } from './pipeline.ts';
import { type Row, type Statement, textsOf, type Value } from './statement.ts';

/** The first event doubles as the first snapshot. */
const taskStart = '{"task":';

/** A whole record in one look: the task, its snapshot and the events after it. */
const recordColumns = `tasks.id, tasks.owner, tasks.context_id, tasks.state, tasks.version,
  tasks.status_time, tasks.cancel_requested, tasks.push_configs,
  snapshots.version AS snapshot_version, coalesce(snapshots.body, first.body) AS snapshot,
  ARRAY(
    SELECT events.body FROM legate.events
    WHERE events.task = tasks.number AND events.sequence > coalesce(snapshots.version, 1)
    ORDER BY events.sequence
  ) AS tail`;
const recordJoins = `LEFT JOIN legate.snapshots ON snapshots.task = tasks.number
  LEFT JOIN legate.events AS first
    ON first.task = tasks.number AND first.sequence = 1 AND snapshots.task IS NULL`;
const order = 'status_time DESC, id DESC';

const statements = {
  load: {
    name: 'task_load',
    text: `SELECT ${recordColumns} FROM legate.tasks ${recordJoins}
      WHERE tasks.id = $1 AND ($2::text IS NULL OR tasks.owner = $2)`,
  },
  events: {
    name: 'task_events',
    text: `SELECT events.sequence, events.body FROM legate.tasks
      JOIN legate.events ON events.task = tasks.number
      WHERE tasks.id = $1 AND events.sequence > $2::bigint ORDER BY events.sequence LIMIT $3`,
  },
  /** Each state has its own order in the index; the page is merged from their beginnings. */
  page: {
    name: 'task_page',
    text: page(
      `SELECT found.* FROM unnest($2::smallint[]) AS wanted (state) CROSS JOIN LATERAL (
         SELECT status_time, id FROM legate.tasks
         WHERE owner = $1 AND state = wanted.state AND status_time >= $3
           AND (status_time, id) < ($4, $5)
         ORDER BY ${order} LIMIT $6
       ) AS found`,
      `SELECT (
         SELECT coalesce(sum(tasks), 0) FROM legate.task_counts
         WHERE owner = $1 AND state = ANY ($2)
       ) + (
         SELECT count(*) FROM legate.tasks WHERE owner = $1 AND state = ANY ($7)
       )`,
    ),
  },
  pageSince: {
    name: 'task_page_since',
    text: page(
      `SELECT found.* FROM unnest($2::smallint[]) AS wanted (state) CROSS JOIN LATERAL (
         SELECT status_time, id FROM legate.tasks
         WHERE owner = $1 AND state = wanted.state AND status_time >= $3
           AND (status_time, id) < ($4, $5)
         ORDER BY ${order} LIMIT $6
       ) AS found`,
      `SELECT count(*) FROM legate.tasks
       WHERE owner = $1 AND state = ANY ($2) AND status_time >= $3`,
    ),
  },
  pageOfContext: {
    name: 'task_page_of_context',
    text: page(
      `SELECT status_time, id FROM legate.tasks
       WHERE context_id = $7 AND owner = $1 AND state = ANY ($2) AND status_time >= $3
         AND status_time <= $4 AND (status_time, id) < ($4, $5)
       ORDER BY ${order} LIMIT $6`,
      `SELECT count(*) FROM legate.tasks
       WHERE context_id = $7 AND owner = $1 AND state = ANY ($2) AND status_time >= $3`,
    ),
  },
};

/**
 * Over all owners there is an order only of the tasks that have ended; the others are few, and are
 * sorted. The totals of ended tasks are known, unless a context or a time is asked for.
 */
const overAll = (() => {
  const filter = `$1::text IS NULL AND state = ANY ($2) AND status_time >= $3
    AND ($7::text IS NULL OR context_id = $7)`;
  const candidates = (kind: string): string =>
    `(SELECT status_time, id FROM legate.tasks
      WHERE state ${kind} (${endedStates}) AND ${filter} AND status_time <= $4
        AND (status_time, id) < ($4, $5)
      ORDER BY ${order} LIMIT $6)`;
  return {
    name: 'task_page_of_all',
    text: page(
      `${candidates('IN')} UNION ALL ${candidates('NOT IN')}`,
      `SELECT CASE WHEN $8::boolean THEN (
         SELECT coalesce(sum(tasks), 0) FROM legate.task_counts WHERE state = ANY ($2)
       ) + (
         SELECT count(*) FROM legate.tasks WHERE state NOT IN (${terminalStates}) AND state = ANY ($2)
       ) ELSE (SELECT count(*) FROM legate.tasks WHERE ${filter}) END`,
    ),
  };
})();

/** One row of the total for an empty page, else one row for each record, with the total in all. */
function page(candidates: string, total: string): string {
  return `SELECT counted.total, listed.* FROM (SELECT (${total}) AS total) AS counted
    LEFT JOIN LATERAL (
      SELECT ${recordColumns} FROM (
        SELECT * FROM (${candidates}) AS candidates ORDER BY ${order} LIMIT $6
      ) AS chosen
      JOIN legate.tasks ON tasks.id = chosen.id ${recordJoins}
    ) AS listed ON true
    ORDER BY listed.status_time DESC, listed.id DESC`;
}

/** Reads tasks and their logs. */
export class TaskReads {
  readonly #reads: Pipeline;

  constructor(reads: Pipeline) {
    this.#reads = reads;
  }

  async load(taskId: string, owner?: string): Promise<TaskRecord | undefined> {
    const [row] = await this.#reads.read(statements.load, [taskId, owner ?? null]);
    return row === undefined ? undefined : toRecord(row);
  }

  async events(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]> {
    const rows = await this.#reads.read(statements.events, [taskId, after, limit]);
    return rows.map((row) => ({
      sequence: Number(row['sequence']),
      body: Json.fromText<StreamResponse>(String(row['body'])),
    }));
  }

  async page(query: TaskQuery): Promise<TaskPage> {
    const { limit } = query;
    const rows = await this.#reads.read(...pageQuery(query));
    const found = rows.filter((row) => row['id'] !== null);
    return {
      records: found.slice(0, limit).map(toRecord),
      total: Number(rows[0]?.['total']),
      more: found.length > limit,
    };
  }
}

/** The statement for a page and its values: one row more than asked for tells whether there are more. */
export function pageQuery(query: TaskQuery): [Statement, Value[]] {
  const { owner, contextId, statusTimeFrom, after, limit } = query;
  const states = listedStates(query);
  const values = [
    owner ?? null,
    states,
    statusTimeFrom ?? Number.MIN_SAFE_INTEGER,
    after?.statusTime ?? Number.MAX_SAFE_INTEGER,
    after?.id ?? '',
    limit + 1,
  ];
  if (owner === undefined) {
    const isWhole = contextId === undefined && statusTimeFrom === undefined;
    return [overAll, [...values, contextId ?? null, isWhole]];
  }
  if (contextId !== undefined) return [statements.pageOfContext, [...values, contextId]];
  if (statusTimeFrom !== undefined) return [statements.pageSince, values];
  const unfinished = states.filter((each) => !isTerminal(taskStates[each] ?? taskStates[0]));
  return [statements.page, [...values, unfinished]];
}

function toRecord(row: Row): TaskRecord {
  const version = Number(row['version']);
  const snapshot = toSnapshot(row);
  const tail = textsOf(row['tail']);
  return {
    id: String(row['id']),
    owner: String(row['owner']),
    contextId: String(row['context_id']),
    state: stateOf(row['state']),
    version,
    statusTime: Number(row['status_time']),
    cancelRequested: row['cancel_requested'] === true,
    isSuperseded: row['state'] === SUPERSEDED,
    hasPush: Number(row['push_configs']) > 0,
    snapshot,
    tail: tail.map((body, index) => ({
      sequence: snapshot.version + 1 + index,
      body: Json.fromText<StreamResponse>(body),
    })),
  };
}

function toSnapshot(row: Row): Snapshot {
  const body = String(row['snapshot']);
  return row['snapshot_version'] === null
    ? { version: 1, body: Json.fromText<Task>(body.slice(taskStart.length, -1)) }
    : { version: Number(row['snapshot_version']), body: Json.fromText<Task>(body) };
}
