import { Json, type StreamResponse, type Task } from '../../protocol/index.ts';
import type { LogEvent, Snapshot, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { isEndedState, listedStates, stateOf, SUPERSEDED, totalLimit } from '../encoding.ts';
import { rowLimit, type TaskIds } from '../event-rows.ts';
import { withNames } from './event-text.ts';
import type { Pipeline } from './pipeline.ts';
import { type Row, type Statement, textsOf, type Value } from './statement.ts';

/** The first event is also the first snapshot. */
const taskStart = '{"task":';

/** A whole record in one query: the task, its snapshot and the events after it. */
const recordColumns = `tasks.id, tasks.owner, tasks.context_id, tasks.state, tasks.version,
  tasks.status_time, tasks.cancel_requested, tasks.push_configs,
  snapshots.version AS snapshot_version, coalesce(snapshots.body, first.body) AS snapshot,
  ARRAY(
    SELECT batch.body FROM legate.event_rows AS batch
    WHERE batch.task = tasks.number AND batch.sequence > coalesce(snapshots.version, 1)
    ORDER BY batch.sequence
  ) AS tail`;
/** One row at a time, by index, because the planner cannot know how few tasks a page has. */
const recordJoins = `LEFT JOIN LATERAL (
    SELECT version, body FROM legate.snapshots WHERE task = tasks.number LIMIT 1
  ) AS snapshots ON true
  LEFT JOIN LATERAL (
    SELECT body FROM legate.event_rows
    WHERE task = tasks.number AND sequence = 1 AND snapshots.version IS NULL LIMIT 1
  ) AS first ON true`;
const order = 'status_time DESC, id DESC';

const statements = {
  load: {
    name: 'task_load',
    text: `SELECT ${recordColumns} FROM legate.tasks ${recordJoins}
      WHERE tasks.id = $1 AND ($2::text IS NULL OR tasks.owner = $2)`,
  },
  /** A row has the number of its last event, so the last row can end beyond the limit. */
  events: {
    name: 'task_events',
    text: `SELECT tasks.id, tasks.context_id, batch.sequence, batch.body FROM legate.tasks
      JOIN legate.event_rows AS batch ON batch.task = tasks.number
      WHERE tasks.id = $1 AND batch.sequence > $2::bigint
        AND batch.sequence < $2::bigint + $3::bigint + ${rowLimit}
      ORDER BY batch.sequence`,
  },
};

/**
 * The conditions of a list. $1 to $5 are owner, states, first time, and the last row of the previous
 * page; $6 is the limit.
 */
const matches = 'state = ANY ($2) AND status_time >= $3';
const ofOwner = `owner = $1 AND ${matches}`;
const ofContext = `owner = $1 AND context_id = $7 AND ${matches}`;
const ofAll = `$1::text IS NULL AND state >= 0 AND ${matches} AND ($7::text IS NULL OR context_id = $7)`;

/** Open tasks are few, and sorted. Ended tasks are many, and read in the order of an index. */
const pages = {
  open: page('task_page_open', [openOf(ofOwner)]),
  openOfContext: page('task_page_open_of_context', [openOf(ofContext)]),
  /** Each state has its own order in the index; the page merges their first rows. */
  ofOwner: page('task_page', [
    openOf(ofOwner),
    {
      candidates: `SELECT found.* FROM unnest($2::smallint[]) AS wanted (state)
        CROSS JOIN LATERAL (
          ${candidates('ended_tasks', 'owner = $1 AND state = wanted.state AND status_time >= $3')}
        ) AS found`,
      counted: `SELECT FROM legate.ended_tasks WHERE ${ofOwner}`,
    },
  ]),
  ofContext: page('task_page_of_context', [openOf(ofContext), endedOf(ofContext)]),
  ofAll: page('task_page_of_all', [openOf(ofAll), endedOf(ofAll)]),
};

interface Source {
  readonly candidates: string;
  readonly counted: string;
}

function openOf(filter: string): Source {
  return {
    candidates: candidates('open_tasks', filter),
    counted: `SELECT FROM legate.open_tasks WHERE ${filter}`,
  };
}

function endedOf(filter: string): Source {
  return {
    candidates: candidates('ended_tasks', filter),
    counted: `SELECT FROM legate.ended_tasks WHERE ${filter}`,
  };
}

function candidates(table: string, filter: string): string {
  return `SELECT status_time, id FROM legate.${table} WHERE ${filter}
    AND status_time <= $4 AND (status_time, id) < ($4, $5) ORDER BY ${order} LIMIT $6`;
}

/** For an empty page one row with the total, else one row per record, each with the total. */
function page(name: string, sources: readonly Source[]): Statement {
  const found = sources.map((source) => `(${source.candidates})`).join(' UNION ALL ');
  const totals = sources.map(
    ({ counted }) => `(SELECT count(*) FROM (${counted} LIMIT ${totalLimit}) AS counted)`,
  );
  const text = `SELECT counted.total, listed.*
    FROM (SELECT least(${totals.join(' + ')}, ${totalLimit}) AS total) AS counted
    LEFT JOIN LATERAL (
      SELECT ${recordColumns} FROM (
        SELECT * FROM (${found}) AS candidates ORDER BY ${order} LIMIT $6
      ) AS chosen
      CROSS JOIN LATERAL (
        SELECT * FROM legate.tasks WHERE tasks.id = chosen.id LIMIT 1
      ) AS tasks ${recordJoins}
    ) AS listed ON true
    ORDER BY listed.status_time DESC, listed.id DESC`;
  return { name, text };
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
    const from = Math.max(after, 0);
    const rows = await this.#reads.read(statements.events, [taskId, from, limit]);
    return rows
      .flatMap((row) => eventsOf(row, Number(row['sequence']), [String(row['body'])]))
      .filter(({ sequence }) => sequence > from && sequence <= from + limit);
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

/**
 * The statement for a page and its values. It reads one row more than the limit, to detect further
 * rows.
 */
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
  if (owner === undefined) return [pages.ofAll, [...values, contextId ?? null]];
  // Ended tasks can be many, so their table is read only if the query includes them.
  const isOpen = !states.some(isEndedState);
  if (contextId === undefined) return [isOpen ? pages.open : pages.ofOwner, values];
  return [isOpen ? pages.openOfContext : pages.ofContext, [...values, contextId]];
}

/** The events of consecutive rows of a task's log; the last event has the number `last`. */
function eventsOf(task: Row, last: number, bodies: readonly string[]): LogEvent[] {
  const lines = bodies.flatMap((body) => withNames(idsOf(task), body).split('\n'));
  return lines.map((line, index) => ({
    sequence: last - lines.length + 1 + index,
    body: Json.fromText<StreamResponse>(line),
  }));
}

function idsOf(task: Row): TaskIds {
  return { id: String(task['id']), contextId: String(task['context_id']) };
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
    tail: eventsOf(row, version, tail).filter(({ sequence }) => sequence > snapshot.version),
  };
}

function toSnapshot(row: Row): Snapshot {
  const body = String(row['snapshot']);
  return row['snapshot_version'] === null
    ? {
        version: 1,
        body: Json.fromText<Task>(withNames(idsOf(row), body).slice(taskStart.length, -1)),
      }
    : { version: Number(row['snapshot_version']), body: Json.fromText<Task>(body) };
}
