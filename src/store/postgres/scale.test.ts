import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgres } from '../../../test/support/postgres.ts';
import { Json } from '../../protocol/index.ts';
import {
  admit,
  append,
  completed,
  ending,
  webhook,
  working,
  writeContext,
} from '../behaviour/fixtures.contract.ts';
import type { TaskQuery } from '../contract.ts';
import { query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';
import type { PostgresStore } from './postgres-store.ts';
import { totalLimit } from '../encoding.ts';
import { pageQuery } from './task-reads.ts';

const tasks = 1_000_000;
/** As many of them have a log, a snapshot and a message. */
const whole = 100_000;
const owner = 'everybody';
/** The last hundredth of the tasks changed since. */
const recently = 1_000_000 + (tasks / 100) * 33;

/** Ended tasks of one owner in many contexts, one in a hundred still open, with all that hangs on them. */
const fill = `
  INSERT INTO legate.ended_tasks (id, number, agent, owner, context_id, state, status_time, version)
  SELECT 'task-' || n, n, 'agent', '${owner}', 'context-' || n % 20000, 3, 1000000 + n / 3, 2
  FROM generate_series(1, ${tasks}) AS n WHERE n % 100 <> 0;
  INSERT INTO legate.open_tasks (id, number, agent, owner, context_id, state, status_time, version)
  SELECT 'task-' || n, n, 'agent', '${owner}', 'context-' || n % 20000, 6, 1000000 + n / 3, 2
  FROM generate_series(1, ${tasks}) AS n WHERE n % 100 = 0;
  SELECT setval('legate.task_numbers', ${tasks});
  INSERT INTO legate.event_rows (task, sequence, body)
  SELECT number, sequence, '{"task":{"id":"' || id || '"}}'
  FROM legate.tasks, generate_series(1, 2) AS sequence WHERE number <= ${whole};
  INSERT INTO legate.snapshots (task, version, body)
  SELECT number, 2, '{"id":"' || id || '"}' FROM legate.tasks WHERE number <= ${whole};
  INSERT INTO legate.messages (turn, owner, key, digest, task_id, expires_at)
  SELECT -number, owner, 'message-' || number, 'd', id, 9000000000 FROM legate.tasks
  WHERE number <= ${whole};
  INSERT INTO legate.contexts (owner, context_id, value, log_length, written_until)
  SELECT '${owner}', 'context-' || n, '1', 1, n FROM generate_series(1, 20000) AS n;
  INSERT INTO legate.context_log (context, sequence, body)
  SELECT number, 1, '1' FROM legate.contexts;
  INSERT INTO legate.records (space, key, value, version, updated_at)
  SELECT 's', 'key-' || n, '1', 1, 0 FROM generate_series(1, 20000) AS n;
  INSERT INTO legate.push_configs (task_id, id, body, wire_version)
  SELECT id, 'w', '{"id":"w","url":"https://example.com"}', '1.0' FROM legate.tasks
  WHERE number % 5 = 0 AND number <= ${whole};
  UPDATE legate.ended_tasks SET push_configs = 1 WHERE number % 5 = 0 AND number <= ${whole};
  UPDATE legate.open_tasks SET push_configs = 1 WHERE number % 5 = 0 AND number <= ${whole};
  INSERT INTO legate.deliveries (config, sequence, is_head, due_at, is_dead)
  SELECT number, 1, true, number, false FROM legate.push_configs;
`;

let url: string;
let store: PostgresStore;
beforeAll(async () => {
  url = await (await postgres()).database();
  store = await openPostgres({ url, statementTimeoutMs: 60_000 });
  await query(url, fill);
  await query(url, 'VACUUM ANALYZE');
}, 240_000);
afterAll(() => store.close());

/** How often each table was read from end to end. */
async function sequentialScans(): Promise<Record<string, number>> {
  const rows = await query<{ name: string; scans: number }>(
    url,
    `SELECT relname AS name, seq_scan::int AS scans FROM pg_stat_user_tables
     WHERE schemaname = 'legate' AND n_live_tup > 10000`,
  );
  return Object.fromEntries(rows.map(({ name, scans }) => [name, scans]));
}

const queries: Record<string, TaskQuery> = {
  'all tasks': { owner, limit: 50 },
  'a later page': { owner, limit: 50, after: { statusTime: 1_030_000, id: 'task-90000' } },
  'a rare state': { owner, state: 'TASK_STATE_INPUT_REQUIRED', limit: 50 },
  'a state that none has': { owner, state: working, limit: 50 },
  'since a time': { owner, statusTimeFrom: recently, limit: 50 },
  'a context': { owner, contextId: 'context-77', limit: 50 },
  'another owner': { owner: 'nobody', limit: 50 },
};

for (const [name, listed] of Object.entries(queries)) {
  test(`a list of ${name} reads no table from end to end, and little of any`, async () => {
    const [statement, values] = pageQuery(listed);
    const [row] = await query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      url,
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement.text}`,
      values,
    );
    const plan = row?.['QUERY PLAN'][0]?.Plan;
    const nodes = [...nodesOf(plan)];
    expect(nodes.length).toBeGreaterThan(3);
    const scanned = nodes.filter((node) => node['Node Type'] === 'Seq Scan');
    // The caller of the other lists has all open tasks.
    const all = listed.owner === owner ? 'open_tasks' : undefined;
    expect(scanned.filter((node) => node['Relation Name'] !== all)).toEqual([]);
    const pages = (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
    expect(pages).toBeLessThan(2_000);
  });
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

function* nodesOf(node: PlanNode | undefined): Generator<PlanNode> {
  if (node === undefined) return;
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}

test('lists are right at a million tasks: totals, order and pages', async () => {
  const all = await store.list({ owner, limit: 100 });
  expect(all).toMatchObject({ total: totalLimit, more: true });
  const sorted = all.records.toSorted(
    (a, b) => b.statusTime - a.statusTime || (a.id < b.id ? 1 : -1),
  );
  expect(all.records).toEqual(sorted);
  const rare = await store.list({ owner, state: 'TASK_STATE_INPUT_REQUIRED', limit: 100 });
  expect(rare.total).toBe(totalLimit);
  const since = await store.list({ owner, statusTimeFrom: recently + 2_000, limit: 1 });
  expect(since.total).toBe(tasks - ((tasks / 100) * 33 + 2_000) * 3 + 1);
});

test('no operation of a store reads a large table from end to end', async () => {
  const before = await sequentialScans();
  expect(Object.keys(before).sort()).toEqual([
    'context_log',
    'contexts',
    'deliveries',
    'ended_tasks',
    'event_rows',
    'messages',
    'push_configs',
    'records',
    'snapshots',
  ]);
  const now = 2_000_000;
  for (let round = 0; round < 8; round += 1) {
    const id = `new-${round}`;
    const dedupe = { key: id, digest: 'd', expiresAt: now + 1 };
    const place = { taskId: id, contextId: id, owner, now, push: webhook(), dedupe };
    const { turn } = await admit(store, { ...place, maxContexts: 10_000 });
    await store.admit({
      ...place,
      agent: 'agent',
      key: id,
      replica: 'r',
      request: Json.of(1),
      maxContexts: 0,
    });
    await store.push.put(id, webhook('x'));
    await store.requestCancel(id);
    await store.cancelRequests('r1');
    const context = { owner, contextId: 'context-9', value: Json.of(1), log: [Json.of(1)] };
    const records = [{ space: 's', key: 'key-9', value: Json.of(2) }];
    await append(store, ending(turn, 1, completed, { context, records }));
    await store.load('task-5', owner);
    await store.readEvents('task-5', 0, 10);
    await store.loadTurn(-5);
    await store.loadContext(owner, 'context-5');
    await store.readContextLog(owner, 'context-5', 1);
    await writeContext(store, { ...context, contextId: 'context-6' });
    await store.deleteContext(owner, `context-${round + 10}`);
    await store.heartbeat('r1', 0);
    await store.takeOver({ agent: 'agent', replica: 'r2', limit: 10, inFlight: [] });
    for (const listed of Object.values(queries)) await store.list(listed);
    await store.push.get('task-10', 'w');
    await store.push.list('task-10');
    const [claimed] = await store.push.claim({ replica: 'r', leaseMs: 1, limit: 5 });
    await store.push.settle(claimed?.id ?? 0, { kind: 'dead', error: 'x' });
    await store.push.revive(claimed?.id ?? 0);
    await store.push.settle(claimed?.id ?? 0, { kind: 'delivered' });
    await store.push.nextDueMs();
    await store.push.deliveries({ limit: 10 });
    await store.push.deliveries({ taskId: 'task-100', limit: 10 });
    await store.push.delete(id, 'x');
    await store.records.get('s', 'key-5', now);
    await store.records.write([{ space: 's', key: 'key-7', value: Json.of(1), ifVersion: 9 }], now);
    await store.records.list({ space: 's', prefix: 'key-77', limit: 10, now });
    await store.records.increment({ space: 's', key: 'key-8', by: 1, expiresAt: now, now });
    await store.retire('r');
    await store.sweep({
      retentionMs: Date.now() - 1_000_100,
      contextRetentionMs: Date.now() - 9_999,
      limit: 20,
    });
  }
  // A connection reports its statistics at its end.
  await store.close();
  await expect
    .poll(
      () =>
        query(
          url,
          `SELECT 1 FROM pg_stat_activity
           WHERE application_name LIKE 'legate%' AND datname = current_database()`,
        ),
      { timeout: 5_000 },
    )
    .toEqual([]);
  expect(await sequentialScans()).toEqual(before);
});
