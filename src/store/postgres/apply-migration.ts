import type { Client } from 'pg';
import { LegateError } from '../../protocol/index.ts';
import { retry } from '../../time/index.ts';
import type { Migration } from '../migration-files.ts';
import { isLockDenied } from './failure.ts';

/** The delay between two attempts, in which writers continue. */
const triesEveryMs = 1_000;

/**
 * Applies one migration and records it. The statements of a file are one transaction. In a file that
 * starts with `-- concurrently`, each statement is its own transaction, as `CREATE INDEX CONCURRENTLY`
 * requires, and can be repeated. Rejects with `STORE_FAILED` if another transaction locks the tables
 * for longer than `waitMs`.
 */
export async function apply(
  client: Client,
  options: { readonly migration: Migration; readonly waitMs: number; readonly place: string },
): Promise<void> {
  const { migration, waitMs, place } = options;
  const { name, sql } = migration;
  try {
    if (sql.startsWith('-- concurrently\n')) await applyConcurrently(client, migration, waitMs);
    else await applyAtOnce(client, migration, waitMs);
  } catch (error) {
    if (!isLockDenied(error)) throw error;
    throw new LegateError(
      'STORE_FAILED',
      `store ${place}: the migration ${name} waits for ${await oldestTransaction(client)}; ` +
        'wait for its end, or end it, and migrate again: legate db migrate',
      { cause: error },
    );
  }
}

/**
 * No reader or writer waits for these statements, so each of them can wait for its lock up to `waitMs`.
 */
async function applyConcurrently(
  client: Client,
  migration: Migration,
  waitMs: number,
): Promise<void> {
  await client.query(`SET lock_timeout = ${waitMs}`);
  try {
    for (const statement of migration.sql.split(/;\n/)) {
      if (statement.replaceAll(/^--.*$/gm, '').trim() !== '') await client.query(statement);
    }
    await record(client, migration);
  } finally {
    await cleanUp(client, 'RESET lock_timeout');
  }
}

/** Never rejects: a broken connection must not hide the error that broke it. */
async function cleanUp(client: Client, statement: string): Promise<void> {
  await client.query(statement).catch(() => {});
}

/** Runs the migration in one transaction. Retries if the transaction did not get its locks. */
async function applyAtOnce(client: Client, migration: Migration, waitMs: number): Promise<void> {
  const start = performance.now();
  const attempt = async (): Promise<void> => {
    await client.query('BEGIN');
    try {
      await client.query(migration.sql);
      await record(client, migration);
      await client.query('COMMIT');
    } catch (error) {
      await cleanUp(client, 'ROLLBACK');
      throw error;
    }
  };
  await retry(attempt, {
    isRetryable: isLockDenied,
    delays: () => (performance.now() - start < waitMs ? triesEveryMs : undefined),
  });
}

async function record(client: Client, { version, name }: Migration): Promise<void> {
  const insert = 'INSERT INTO legate.migrations (version, name) VALUES ($1, $2)';
  await client.query(insert, [version, name]);
}

async function oldestTransaction(client: Client): Promise<string> {
  const { rows } = await client.query<{ pid: number; name: string; seconds: number }>(
    `SELECT pid, application_name AS name, extract(epoch FROM now() - xact_start)::int AS seconds
     FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
     ORDER BY xact_start LIMIT 1`,
  );
  const [oldest] = rows;
  if (oldest === undefined) return 'a transaction that uses its tables';
  const { pid, name, seconds } = oldest;
  return `the transaction of ${name || 'a client'} (process ${pid}, open for ${seconds} s)`;
}
