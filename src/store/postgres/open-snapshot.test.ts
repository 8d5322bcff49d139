import { Client } from 'pg';
import { expect, test } from 'vitest';
import { postgres } from '../../../test/support/postgres.ts';
import { admit, append, ending } from '../behaviour/fixtures.contract.ts';
import { query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';

/** Runs so many tasks from admission to end, in shared transactions. */
async function run(url: string, prefix: string, count: number): Promise<void> {
  const store = await openPostgres({ url });
  const ids = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  const admitted = await Promise.all(
    ids.map((taskId) => admit(store, { taskId, contextId: taskId })),
  );
  await Promise.all(admitted.map(({ turn }) => append(store, ending(turn, 1))));
  // A connection reports its statistics at its end.
  await store.close();
}

async function entriesRead(url: string): Promise<number> {
  const [row] = await query<{ read: number }>(
    url,
    `SELECT sum(idx_tup_read)::int AS read FROM pg_stat_user_indexes
     WHERE schemaname = 'legate' AND relname IN ('turns', 'open_tasks')`,
  );
  return row?.read ?? 0;
}

test('a send reads no rows that ended before it, however many an open snapshot keeps', async () => {
  const url = await (await postgres()).database();
  await run(url, 'first', 10);
  const snapshot = new Client({ connectionString: url });
  await snapshot.connect();
  try {
    await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await snapshot.query('SELECT 1');
    await run(url, 'ended', 4_000);
    // The planner takes the tables for small now.
    await query(url, 'ANALYZE legate.turns, legate.open_tasks');
    await expect.poll(() => entriesRead(url)).toBeGreaterThan(4_000);
    const before = await entriesRead(url);
    await run(url, 'new', 200);
    await expect.poll(() => entriesRead(url)).toBeGreaterThan(before);
    expect((await entriesRead(url)) - before).toBeLessThan(15 * 200);
  } finally {
    await snapshot.end();
  }
}, 120_000);
