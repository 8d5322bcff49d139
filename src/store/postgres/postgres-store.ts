import {
  isTerminal,
  Json,
  type JsonValue,
  LegateError,
  type Message,
} from '../../protocol/index.ts';
import { checkAppend } from '../transactions.ts';
import type {
  Admission,
  AdmitOutcome,
  AgentCounts,
  Append,
  AppendOutcome,
  CommandStore,
  ContextQuery,
  ContextRecord,
  ListedContext,
  LogEvent,
  Store,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TurnRecord,
} from '../contract.ts';
import { probeRecords, WriteHealth } from '../store-health.ts';
import { rowState, stateNumber } from '../encoding.ts';
import { snapshotFrom, toLine } from '../event-rows.ts';
import { pack } from '../phrases.ts';
import { nextTurn, postgresCommands } from './command-turns.ts';
import type { Connections, Traffic } from './open-postgres.ts';
import { batch } from './batch.ts';
import { ContextQuota } from './context-quota.ts';
import { ContextTable, contextTypes, contextValues } from './context-table.ts';
import { DatabaseClock } from './database-clock.ts';
import { taskText } from './event-text.ts';
import { isTaskIdTaken, outageReason } from './failure.ts';
import type { Notices } from './notices.ts';
import { registrationValues } from '../delivery-row.ts';
import { PushTable } from './push-table.ts';
import { RecordTable, recordTypes, recordValues } from './record-table.ts';
import { call, kindOf, type Row, type Value } from './statement.ts';
import { TaskReads } from './task-reads.ts';
import { VectorTable } from './vector-table.ts';

/** Milliseconds of a lease without expiry: a century. */
const longestLeaseMs = 3_155_760_000_000;

const statements = {
  admit: batch(
    'admit',
    `text, text, text, text, text, text, bigint, text, text, text, bigint, text, smallint,
     text, text, text, integer`,
  ),
  append: batch(
    'append',
    `text, integer, text[], boolean[], smallint, bigint, integer, text, bigint, text, boolean, text,
     ${contextTypes}, ${recordTypes}, text, bigint`,
  ),
  takeOver: {
    name: 'take_over',
    // At time 0, every replica that has not retired is alive.
    text: `SELECT * FROM legate.take_over(
      $1, $2, CASE WHEN $3::boolean THEN 0 ELSE legate.clock() END, $4, $5
    )`,
  },
  clock: { name: 'clock', text: 'SELECT legate.clock() AS now' },
  sweep: call('sweep_over', 3),
  requestCancel: call('request_cancel', 1),
  cancelRequests: {
    name: 'cancel_requests',
    text: `SELECT DISTINCT task.id FROM (
        SELECT id FROM legate.open_tasks WHERE cancel_requested
        UNION ALL
        SELECT id FROM legate.ended_tasks WHERE cancel_requested AND legate.is_superseded(state)
      ) AS task
      JOIN legate.turns ON turns.task_id = task.id AND turns.replica = $1`,
  },
  counts: {
    name: 'counts',
    text: `SELECT
      (SELECT count(*) FROM legate.turns WHERE agent = $1 AND replica IS NULL) AS queued_turns,
      (SELECT count(*) FROM (
        SELECT DISTINCT owner, context_id FROM legate.open_tasks WHERE agent = $1
      ) AS contexts) AS open_contexts`,
  },
  loadTurn: {
    name: 'load_turn',
    text: `SELECT false AS has_ended, NULL AS reply FROM legate.turns WHERE id = $1
      UNION ALL
      SELECT true, reply FROM legate.messages WHERE turn = $1
      LIMIT 1`,
  },
  heartbeat: {
    name: 'heartbeat',
    text: `INSERT INTO legate.replicas (id, expires_at) VALUES ($1, legate.clock() + $2::bigint)
      ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
      RETURNING legate.clock() AS now`,
  },
  retire: {
    name: 'retire',
    text: `WITH gone AS (DELETE FROM legate.replicas WHERE id = $1)
      UPDATE legate.deliveries SET due_at = 0, claimed_by = NULL
      WHERE claimed_by = $1 AND is_head`,
  },
  deadReplicas: {
    name: 'dead_replicas',
    text: `SELECT id FROM unnest($1::text[]) AS given (id)
      WHERE NOT EXISTS (
        SELECT FROM legate.replicas
        WHERE replicas.id = given.id AND ($2 OR replicas.expires_at > legate.clock())
      )`,
  },
  release: {
    name: 'release',
    text: `UPDATE legate.turns SET replica = NULL, attempt = attempt + $3
      WHERE id = $1 AND replica = $2`,
  },
};

/**
 * The store in a PostgreSQL database, which any number of replicas can share. Database functions
 * implement the rules of the contract; this class encodes their arguments and decodes their results.
 */
export class PostgresStore implements Store {
  readonly driver = 'postgres';
  readonly shared = true;
  readonly clock: DatabaseClock;
  readonly health: WriteHealth;
  readonly commands: CommandStore;
  readonly push: PushTable;
  readonly records: RecordTable;
  readonly vectors: VectorTable;
  readonly #connections: Connections;
  readonly #notices: Notices;
  readonly #tasks: TaskReads;
  readonly #contexts: ContextTable;
  readonly #quota: ContextQuota;
  #isClosed = false;

  constructor(connections: Connections, notices: Notices) {
    this.#connections = connections;
    this.#notices = notices;
    this.#quota = new ContextQuota(() => notices.replicas);
    this.clock = new DatabaseClock(async () => {
      const [row] = await connections.reads.read(statements.clock, []);
      return Number(row?.['now']);
    });
    this.health = new WriteHealth({
      driver: this.driver,
      reasonOf: outageReason,
      probe: () => probeRecords(this.records),
    });
    connections.onFailure = (failure) => this.health.failed(failure);
    this.#tasks = new TaskReads(connections.reads);
    this.#contexts = new ContextTable(connections);
    this.commands = postgresCommands(connections, notices);
    this.push = new PushTable(connections);
    this.records = new RecordTable(connections, this.clock);
    this.vectors = new VectorTable(connections);
  }

  /** Network traffic since the start. */
  get traffic(): Traffic {
    return this.#connections.traffic;
  }

  async admit(admission: Admission): Promise<AdmitOutcome> {
    const { agent, key, taskId, request } = admission;
    const max = admission.task === undefined ? 0 : admission.maxContexts;
    const limit = this.#quota.limitFor(agent, max, taskId);
    try {
      const values = admitValues(admission, limit);
      const [row = {}] = await this.#connections.writes.write(statements.admit, values, { key });
      if (typeof row['contexts'] === 'string')
        this.#quota.learn(agent, max, Number(row['contexts']));
      else if (limit > 0) this.#quota.forget(agent);
      if (row['kind'] !== 'admitted') this.#quota.ended(taskId);
      return toAdmitOutcome(row, key, taskId, request);
    } catch (error) {
      if (limit > 0) this.#quota.forget(agent);
      this.#quota.ended(taskId);
      if (!(error instanceof LegateError && isTaskIdTaken(error.cause))) throw error;
      throw new LegateError('INTERNAL', `task ${taskId} exists already`, { cause: error });
    }
  }

  async append(append: Append): Promise<AppendOutcome> {
    checkAppend(append);
    const { taskId, version, events, turn } = append;
    const endsTask = isTerminal(append.state) || append.reply !== undefined;
    const [row = {}] = await this.#connections.writes.write(
      statements.append,
      appendValues(append),
      turn === undefined
        ? endsTask
          ? { taskId }
          : {}
        : endsTask || append.endsTurn === true
          ? { turn: turn.id }
          : {},
    );
    const outcome = toAppendOutcome(row);
    if (outcome.kind === 'appended') {
      if (endsTask || append.isSuperseded === true) this.#quota.ended(taskId);
      this.#notices.notify(taskId, version + events.length);
    }
    return outcome;
  }

  load(taskId: string, owner?: string): Promise<TaskRecord | undefined> {
    return this.#tasks.load(taskId, owner);
  }

  readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]> {
    return this.#tasks.events(taskId, after, limit);
  }

  list(query: TaskQuery): Promise<TaskPage> {
    return this.#tasks.page(query);
  }

  async counts(agent: string): Promise<AgentCounts> {
    const [row] = await this.#connections.upkeep.read(statements.counts, [agent]);
    return {
      queuedTurns: Number(row?.['queued_turns']),
      openContexts: Number(row?.['open_contexts']),
    };
  }

  async requestCancel(taskId: string): ReturnType<Store['requestCancel']> {
    const [row] = await this.#connections.writes.write(statements.requestCancel, [taskId]);
    if (row === undefined) return undefined;
    this.#notices.announce(taskId, Number(row['version']));
    return { running: row['is_running'] === true, queued: row['is_queued'] === true };
  }

  async cancelRequests(replica: string): Promise<readonly string[]> {
    const rows = await this.#connections.upkeep.read(statements.cancelRequests, [replica]);
    return rows.map((row) => String(row['id']));
  }

  async loadTurn(turnId: number): ReturnType<Store['loadTurn']> {
    const [row] = await this.#connections.reads.read(statements.loadTurn, [turnId]);
    if (row === undefined) return undefined;
    return { ended: row['has_ended'] === true, ...replyOf(row) };
  }

  loadContext(owner: string, contextId: string): Promise<ContextRecord | undefined> {
    return this.#contexts.read(owner, contextId);
  }

  readContextLog(
    owner: string,
    contextId: string,
    last?: number,
  ): Promise<readonly Json<JsonValue>[]> {
    return this.#contexts.readLog(owner, contextId, last);
  }

  listContexts(query: ContextQuery): Promise<readonly ListedContext[]> {
    return this.#contexts.list(query);
  }

  deleteContext(owner: string, contextId: string): Promise<boolean> {
    return this.#contexts.delete(owner, contextId);
  }

  async heartbeat(replica: string, leaseMs: number): Promise<void> {
    const values = [replica, Math.min(Math.round(leaseMs), longestLeaseMs)];
    await this.clock.around(async () => {
      const [row] = await this.#connections.upkeep.write(statements.heartbeat, values);
      return Number(row?.['now']);
    });
  }

  async retire(replica: string): Promise<void> {
    await this.#connections.upkeep.write(statements.retire, [replica]);
  }

  async deadReplicas(
    ...[replicas, { sparesExpired = false } = {}]: Parameters<Store['deadReplicas']>
  ) {
    const values = [replicas, sparesExpired];
    const rows = await this.#connections.upkeep.read(statements.deadReplicas, values);
    return rows.map((row) => String(row['id']));
  }

  async takeOver(query: Parameters<Store['takeOver']>[0]): Promise<readonly TurnRecord[]> {
    const { agent, replica, limit, sparesExpired = false, inFlight } = query;
    const values = [agent, replica, sparesExpired, limit, inFlight ?? null];
    const rows = await this.#connections.upkeep.write(statements.takeOver, values);
    return rows
      .map((row) => ({
        id: Number(row['id']),
        key: String(row['key']),
        taskId: String(row['task_id']),
        attempt: Number(row['attempt']),
        request: Json.fromText<JsonValue>(String(row['request'])),
      }))
      .sort((a, b) => a.id - b.id);
  }

  async release({ id, replica, started }: Parameters<Store['release']>[0]): Promise<void> {
    const values = [id, replica, started === true ? 1 : 0];
    await this.#connections.writes.write(statements.release, values);
  }

  async sweep(query: Parameters<Store['sweep']>[0]): ReturnType<Store['sweep']> {
    const { retentionMs = null, contextRetentionMs = null, limit } = query;
    const values = [retentionMs, contextRetentionMs, limit];
    const [row] = await this.#connections.upkeep.write(statements.sweep, values);
    return {
      tasks: Number(row?.['tasks']),
      contexts: Number(row?.['contexts']),
      messages: Number(row?.['messages']),
      records: Number(row?.['records']),
    };
  }

  watch(...watcher: Parameters<Store['watch']>): () => void {
    return this.#notices.watch(...watcher);
  }

  follow(taskId: string): () => void {
    return this.#notices.follow(taskId);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.health.close();
    this.#notices.close();
    await this.#connections.close();
  }
}

function admitValues(admission: Admission, maxContexts: number): Value[] {
  const { dedupe, task, push } = admission;
  return [
    admission.agent,
    admission.owner,
    admission.key,
    admission.taskId,
    admission.contextId,
    admission.replica,
    admission.now,
    admission.request.text,
    dedupe?.key ?? null,
    dedupe?.digest ?? null,
    dedupe?.expiresAt ?? null,
    task === undefined
      ? null
      : taskText({ id: admission.taskId, contextId: admission.contextId }, task),
    task === undefined ? null : stateNumber(task.value.status.state),
    ...(push === undefined ? [null, null, null] : registrationValues(push)),
    maxContexts,
  ];
}

const admitKinds = [
  'admitted',
  'duplicate',
  'reused',
  'context-limit',
  'task-not-found',
  'task-ended',
] as const satisfies readonly AdmitOutcome['kind'][];

function toAdmitOutcome(
  row: Row,
  key: string,
  taskId: string,
  request: Json<JsonValue>,
): AdmitOutcome {
  const kind = kindOf(row, admitKinds);
  switch (kind) {
    case 'admitted': {
      const turn = { id: Number(row['turn']), key, taskId, attempt: 1, request };
      return { kind, turn, running: row['is_running'] === true };
    }
    case 'duplicate':
      return {
        kind,
        taskId: String(row['known_task']),
        ended: row['has_ended'] === true,
        ...replyOf(row),
      };
    default:
      return { kind };
  }
}

function appendValues(append: Append): Value[] {
  const { events, turn, context, records } = append;
  const snapshot = (append.snapshot?.version ?? 0) < snapshotFrom ? undefined : append.snapshot;
  return [
    append.taskId,
    append.version,
    events.map(({ body }) => pack(toLine(body))),
    events.map(({ body }) => !('message' in body.value)),
    rowState({ state: append.state, isSuperseded: append.isSuperseded === true }),
    append.statusTime,
    snapshot?.version ?? null,
    snapshot?.body.text ?? null,
    turn?.id ?? null,
    turn?.replica ?? null,
    append.endsTurn === true,
    append.reply?.text ?? null,
    ...(context === undefined ? [null, null, null, null] : contextValues(context)),
    ...(records === undefined ? [null, null, null, null, null] : recordValues(records)),
    append.replica,
    append.now,
  ];
}

function toAppendOutcome(row: Row): AppendOutcome {
  const kind = kindOf(row, ['appended', 'version-conflict', 'fenced']);
  if (kind !== 'appended') return { kind };
  return {
    kind,
    cancelRequested: row['is_cancel_requested'] === true,
    deliveries: row['has_deliveries'] === true,
    ...nextTurn(row),
  };
}

function replyOf(row: Row): { reply?: Json<Message> } {
  const reply = row['reply'];
  return typeof reply === 'string' ? { reply: Json.fromText<Message>(reply) } : {};
}
