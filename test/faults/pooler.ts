import { Client } from 'pg';
import { send } from '../replicas/calls.ts';
import { pause } from './injection.ts';
import { runReplicas, type Setting } from './run.ts';
import type { Scenario } from './scenario.ts';

const hour = 3_600_000;
const retentionMs = hour;
/** Above 64, where replicas share the limit out. */
const maxContexts = 70;
/** The documented tolerance. */
const mostContexts = maxContexts * 1.5;
const questions = 130;
/** Old tasks of one round, and within how many milliseconds they get older than the retention. */
const oldTasks = 500;
const boundaryMs = 3_000;

/**
 * Replicas behind PgBouncer in transaction mode. PgBouncer restarts, connections that listen are cut, and
 * ended tasks cross the boundary of their retention while messages arrive: none of the others may go with
 * them. At the end, questions are left open on all replicas until the limit of contexts refuses more.
 */
export const pooler: Scenario = (options) =>
  runReplicas(options, {
    isPooled: true,
    settings: { maxContexts, retentionMs, sweepIntervalMs: 200 },
    talk: { count: 24 },
    faults: (setting) => ({
      'restart of the pooler': {
        weight: 2,
        cause: async () => {
          await setting.pooler?.restart();
          await pause(setting.random.between(200, 1_000));
        },
      },
      'lost listeners': { cause: () => cutListeners(setting) },
      'retention of old tasks': { weight: 2, cause: () => crossBoundary(setting) },
    }),
    check: async (setting) => {
      const left = `SELECT id FROM legate.tasks WHERE agent = 'old'`;
      const areGone = await untilNone(setting, left);
      return [
        ...(areGone ? [] : ['ended tasks outlived their retention']),
        ...(await askTooMuch(setting)),
      ];
    },
  });

/** Resolves once every replica listens again. */
async function cutListeners(setting: Setting): Promise<void> {
  const listeners = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'legate-listen'`;
  for (;;) {
    const { rows } = await query(
      setting,
      `SELECT pg_terminate_backend(pid) FROM (${listeners}) AS listeners`,
    );
    if (rows.length > 0) break;
    await pause(50);
  }
  const replicas = setting.cluster.alive.length;
  while ((await query(setting, listeners)).rows.length < replicas) await pause(50);
}

/** Asks more than the limit allows, on all replicas at once and while PgBouncer restarts. */
async function askTooMuch(setting: Setting): Promise<string[]> {
  const { cluster } = setting;
  const asking = Array.from({ length: questions }, async () => {
    const contextId = crypto.randomUUID();
    return (await send(cluster.next(), 'ask', { contextId })).task?.status?.state;
  });
  await setting.pooler?.restart();
  const states = await Promise.all(asking);
  const refused = states.filter((state) => state === 'TASK_STATE_FAILED').length;
  const { rows } = await query<{ open: number }>(
    setting,
    'SELECT count(DISTINCT context_id)::int AS open FROM legate.open_tasks',
  );
  const open = rows[0]?.open ?? 0;
  return open > 0 && open <= mostContexts && refused > 0
    ? []
    : [`${open} contexts were open with a limit of ${maxContexts}, ${refused} were refused`];
}

/** Writes tasks that get older than the retention one after the other, and waits until all are gone. */
async function crossBoundary(setting: Setting): Promise<void> {
  await query(
    setting,
    `WITH written AS (
      INSERT INTO legate.ended_tasks (id, agent, owner, context_id, state, status_time, version)
      SELECT gen_random_uuid(), 'old', 'nobody', 'old', 3,
        legate.clock() - ${retentionMs} + ${boundaryMs} * n / ${oldTasks}, 1
      FROM generate_series(1, ${oldTasks}) AS n RETURNING number
    )
    INSERT INTO legate.event_rows (task, sequence, body)
    SELECT number, 1, '{"task":{}}' FROM written`,
  );
  const early = `SELECT count(*)::int AS count FROM legate.ended_tasks
    WHERE agent = 'old' AND status_time > legate.clock() - ${retentionMs}`;
  const { rows } = await query<{ count: number }>(setting, early);
  if (rows[0]?.count === 0) throw new Error('no task was on the near side of the boundary');
  await pause(setting.random.between(200, boundaryMs));
}

/** Whether a query has no row any more, soon enough. */
async function untilNone(setting: Setting, text: string): Promise<boolean> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    if ((await query(setting, text)).rows.length === 0) return true;
    await pause(100);
  }
  return false;
}

async function query<Row extends object = object>(setting: Setting, text: string) {
  const client = new Client({ connectionString: setting.database });
  await client.connect();
  try {
    return await client.query<Row>(text);
  } finally {
    await client.end();
  }
}
