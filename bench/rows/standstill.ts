import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { postgres } from '../../test/support/postgres.ts';
import { migrate, readMigrations } from '../../src/store/postgres/migrations.ts';
import { migrateSqlite } from '../../src/store/sqlite/maintenance.ts';

/** The last schema before open and ended tasks got separate tables. */
const former = 10;
const senders = 4;
const admit = `SELECT kind FROM legate.admit('echo', 'bench', $1, $1, $1, 'r1', 1, '{}', NULL, NULL, NULL,
  '{"id":"x"}', 1::smallint, NULL, NULL, NULL, 0)`;

/** Migrates ended tasks of the former schema while messages arrive; in milliseconds. */
export async function migratePostgres(
  tasks: number,
): Promise<{ readonly tookMs: number; readonly longestSendMs: number }> {
  const url = await (await postgres()).database();
  const steps = readMigrations();
  await migrate(url, steps.slice(0, former));
  const clients = Array.from({ length: senders }, () => new Client({ connectionString: url }));
  for (const client of clients) await client.connect();
  try {
    const [client] = clients;
    await client?.query(
      `INSERT INTO legate.tasks (id, agent, owner, context_id, state, status_time, version)
         SELECT 'task-' || n, 'echo', 'bench', 'context-' || n / 10, 3, n, 2
         FROM generate_series(1, ${tasks}) AS n;
       INSERT INTO legate.events (task, sequence, body)
         SELECT number, sequence, '{"task":{"id":"x"}}'
         FROM legate.tasks, generate_series(1, 2) AS sequence`,
    );
    await client?.query('VACUUM ANALYZE');
    const over = new AbortController();
    let longestSendMs = 0;
    const load = clients.map(async (each, sender) => {
      for (let send = 0; !over.signal.aborted; send += 1) {
        const start = performance.now();
        await each.query({ name: 'admit', text: admit, values: [`send-${sender}-${send}`] });
        longestSendMs = Math.max(longestSendMs, performance.now() - start);
      }
    });
    const start = performance.now();
    await migrate(url, steps);
    const tookMs = performance.now() - start;
    over.abort();
    await Promise.all(load);
    return { tookMs, longestSendMs };
  } finally {
    for (const client of clients) await client.end();
  }
}

/** The duration of `legate store migrate` for a file that cannot shrink yet, in milliseconds. */
export function rewriteSqlite(path: string): number {
  {
    using database = new DatabaseSync(path);
    database.exec('PRAGMA auto_vacuum = NONE; VACUUM');
  }
  const start = performance.now();
  migrateSqlite(path);
  return performance.now() - start;
}
