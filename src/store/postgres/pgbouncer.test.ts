import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PgBouncer, poolSize, startPgBouncer } from '../../../test/support/pgbouncer.ts';
import { postgres } from '../../../test/support/postgres.ts';
import { LegateError } from '../../protocol/index.ts';
import {
  admit,
  alice,
  append,
  ending,
  statusAppend,
  working,
} from '../behaviour/fixtures.contract.ts';
import { query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';
import type { PostgresStore } from './postgres-store.ts';

let database: string;
let pooler: PgBouncer;
const stores: PostgresStore[] = [];
beforeAll(async () => {
  database = await (await postgres()).database();
  pooler = await startPgBouncer(database);
  for (let index = 0; index < 3; index += 1) {
    stores.push(await openPostgres({ url: pooler.url, listenUrl: database }));
  }
}, 60_000);
afterAll(async () => {
  for (const store of stores) await store.close();
});

async function runTask(store: PostgresStore, id: string): Promise<void> {
  const { turn } = await admit(store, { taskId: id, contextId: id });
  await append(store, ending(turn, 1));
}

test('replicas behind PgBouncer in transaction mode write, read and list', async () => {
  const ids = Array.from({ length: 90 }, (_, index) => `t${index}`);
  await Promise.all(ids.map((id, index) => runTask(stores[index % 3] ?? fail(), id)));
  const [store = fail()] = stores;
  const loaded = await Promise.all(ids.map((id) => store.load(id, alice)));
  expect(loaded.map((record) => record?.version)).toEqual(ids.map(() => 2));
  expect((await store.list({ owner: alice, limit: 10 })).total).toBe(90);
});

test('replicas behind PgBouncer tell each other of tasks that they follow', async () => {
  const [first = fail(), second = fail()] = stores;
  const told: string[] = [];
  second.watch(({ taskId, version }) => void (version > 1 && told.push(taskId)));
  second.follow('followed');
  await admit(first, { taskId: 'followed', contextId: 'followed' });
  await expect
    .poll(async () => {
      const { version = 0 } = (await first.load('followed')) ?? {};
      await append(first, statusAppend('followed', version, working));
      return told;
    })
    .toContain('followed');
});

test('one connection of each replica is its own and listens, the others share those of the pooler', async () => {
  const count = async () => {
    const [row] = await query<{ listening: number; pooled: number }>(
      database,
      `SELECT (count(*) FILTER (WHERE application_name = 'legate-listen'))::int AS listening,
         (count(*) FILTER (WHERE application_name <> 'legate-listen'))::int AS pooled
       FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    return row;
  };
  await expect.poll(async () => (await count())?.listening).toBe(stores.length);
  await runTask(stores[0] ?? fail(), 'pooled');
  const pooled = (await count())?.pooled ?? 0;
  expect(pooled).toBeGreaterThan(0);
  // Two of each of three replicas would be six.
  expect(pooled).toBeLessThanOrEqual(poolSize);
});

test('PgBouncer restarts under load: what was acknowledged is there, once, and writes continue', async () => {
  const done: string[] = [];
  let next = 0;
  const load = new AbortController();
  const senders = stores.map(async (store) => {
    while (!load.signal.aborted) {
      const id = `r${(next += 1)}`;
      try {
        await runTask(store, id);
        done.push(id);
      } catch (error) {
        expect(error).toMatchObject({ code: 'STORE_FAILED' } satisfies Partial<LegateError>);
      }
    }
  });
  await expect.poll(() => done.length).toBeGreaterThan(5);
  await pooler.restart();
  const before = done.length;
  await expect.poll(() => done.length, { timeout: 20_000 }).toBeGreaterThan(before + 5);
  load.abort();
  await Promise.all(senders);
  const rows = await query<{ id: string }>(
    database,
    `SELECT id FROM legate.ended_tasks JOIN legate.events ON events.task = ended_tasks.number
     WHERE id LIKE 'r%' AND events.sequence = 2`,
  );
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(done));
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
});

function fail(): never {
  throw new Error('there is no such store');
}
