import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';

/** Contexts whose tasks have one superseded question each: a short and a long conversation. */
export const conversations = { short: 1_000, long: 8_000 } as const;

/**
 * Rows of `tasks`, copied from one real task. 1 in 100 failed, 1 in 1,000 waits for input, ten share a
 * context. Status times are a millisecond apart, the last one is now.
 */
function columns(owner: string, count: number, now: number): string {
  return `${idOf('n')} AS id, '${owner}' AS agent, owner, 'context-' || n / 10 AS context_id,
    CASE WHEN n % 1000 = 0 THEN 6 WHEN n % 100 = 1 THEN 4 ELSE 3 END AS state,
    ${now} - ${count} + n AS status_time, version`;
}

/** An id with the length of a UUID. */
function idOf(number: string): string {
  return `'01a1ef76-fd3e-75b1-9651-' || substr('00000000000' || ${number}, -12)`;
}

/** Copies the only task of a SQLite store. No process may have the file open. */
export function cloneSqlite(path: string, count: number): void {
  using database = new DatabaseSync(path);
  const now = Date.now();
  const numbers = (to: number): string =>
    `WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n <= ${to})`;
  const insert = `INSERT INTO tasks (number, id, agent, owner, context_id, state, status_time, version, cancel_requested, push_configs)`;
  database.exec(`PRAGMA synchronous = OFF; BEGIN;
    ${numbers(count)} ${insert} SELECT n, ${columns('echo', count, now)}, 0, 0
      FROM numbers, (SELECT owner, version FROM tasks WHERE number = 1);`);
  let last = count + 1;
  for (const [context, length] of Object.entries(conversations)) {
    database.exec(`${numbers(length)} ${insert} SELECT ${last} + n, 'q-${context}-' || n, 'asker',
      '["asker","",""]', '${context}', 9, ${now} + n, version, 0, 0
      FROM numbers, (SELECT version FROM tasks WHERE number = 1);`);
    last += length + 1;
  }
  database.exec(`INSERT INTO events SELECT number * 4194304 + key % 4194304, body
      FROM tasks, (SELECT key, body FROM events WHERE key < 8388608) WHERE number > 1
      ORDER BY 1;
    DELETE FROM task_counts;
    INSERT INTO task_counts SELECT owner, state, count(*) FROM tasks GROUP BY owner, state;
    COMMIT`);
}

/**
 * Copies the only task of a PostgreSQL store, with a message for each copy; half of the messages have
 * expired.
 */
export async function clonePostgres(url: string, count: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const now = Date.now();
  const names = 'id, number, agent, owner, context_id, state, status_time, version';
  const one = '(SELECT number AS first, owner, version FROM legate.ended_tasks LIMIT 1) AS one';
  const copies = `SELECT id, number, agent, owner, context_id, state, status_time, version FROM (
      SELECT n + 1000000000 AS number, ${columns('echo', count, now).replaceAll('substr(', 'right(').replaceAll(', -12)', ', 12)')}
      FROM generate_series(1, ${count}) AS n, ${one}
    ) AS copies`;
  const steps = [
    'SET synchronous_commit = off',
    'CREATE TEMP TABLE sample AS SELECT sequence, body FROM legate.event_rows',
    `INSERT INTO legate.open_tasks (${names}) ${copies} WHERE state = 6`,
    `INSERT INTO legate.ended_tasks (${names}) ${copies} WHERE state <> 6`,
    ...Object.entries(conversations).map(
      ([context, length], index) => `INSERT INTO legate.ended_tasks (${names})
        SELECT 'q-${context}-' || n, ${2 + index}000000000 + n, 'asker', '["asker","",""]', '${context}', 9,
          ${now} + n, version FROM generate_series(1, ${length}) AS n, ${one}`,
    ),
    `INSERT INTO legate.event_rows (task, sequence, body) SELECT number, sequence, body
      FROM legate.tasks, sample WHERE number >= 1000000000 ORDER BY number, sequence`,
    `INSERT INTO legate.messages (turn, owner, key, digest, task_id, expires_at)
      SELECT -number, owner, id, 'digest', id, status_time + ${Math.round(count / 2)} FROM legate.ended_tasks
      WHERE number >= 1000000000 ORDER BY number`,
    'VACUUM ANALYZE',
  ];
  try {
    for (const step of steps) await client.query(step);
  } finally {
    await client.end();
  }
}
