import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { errorMessage, LegateError } from '../../protocol/index.ts';
import { isDamage, storeFailure } from './failure.ts';
import { checkVersion, migrate, readMigrations, schemaVersion } from './migrations.ts';
import { lockInode, lockOwner } from './owner-lock.ts';

/** The result of a check of a store file. */
export interface SqliteReport {
  readonly bytes: number;
  /** The version of its schema. */
  readonly version: number;
  /** The schema version that this program needs. */
  readonly latest: number;
  readonly tasks: number;
  readonly contexts: number;
  /** Whether the file can shrink. A file from an older version can after `migrateSqlite`. */
  readonly shrinks: boolean;
  /** The problems that `PRAGMA integrity_check` reports, at most ten lines. */
  readonly problems: readonly string[];
}

/**
 * Checks a whole store file; a server can have it open. Unreadable parts of a damaged file count as
 * absent, and the report lists each as a problem.
 */
export function checkSqlite(path: string): SqliteReport {
  requireFile(path);
  const latest = readMigrations().at(-1)?.version ?? 0;
  const problems: string[] = [];
  const attempt = <T>(what: string, fallback: T, read: () => T): T => {
    try {
      return read();
    } catch (error) {
      if (!isDamage(error)) throw storeFailure(path, error);
      problems.push(`${what} can't be read: ${errorMessage(error)}`);
      return fallback;
    }
  };
  using database = new DatabaseSync(path, { readOnly: true });
  const integrity = attempt('the file', [], () =>
    database.prepare('PRAGMA integrity_check(10)').all(),
  );
  problems.push(
    ...integrity.map((row) => String(row['integrity_check'])).filter((line) => line !== 'ok'),
  );
  const hasTable = (table: string): boolean =>
    database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !==
    undefined;
  const count = (table: string): number =>
    attempt(`the table ${table}`, 0, () => {
      if (!hasTable(table)) return 0;
      return Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
    });
  return {
    bytes: statSync(path).size,
    version: attempt('the schema version', 0, () => schemaVersion(database, path)),
    latest,
    tasks: count('tasks'),
    contexts: count('contexts'),
    shrinks: attempt('the layout', true, () => shrinks(database)),
    problems,
  };
}

/**
 * Copies a consistent snapshot of a store file; a server can write to it meanwhile. The copy gets its
 * name once it is complete and checked. An existing file is not replaced.
 */
export async function backupSqlite(path: string, target: string): Promise<SqliteReport> {
  requireFile(path);
  refuseExisting(target, 'name a new file');
  const part = `${target}.part`;
  try {
    const report = await copyWhole(path, part);
    renameSync(part, target);
    return report;
  } finally {
    removePart(part);
  }
}

/**
 * Restores a backup to the path of a store that no process has open. An existing file is replaced only
 * with `replaces`. A backup of an older version is migrated when it is next opened.
 */
export async function restoreSqlite(
  source: string,
  path: string,
  { replaces = false }: { readonly replaces?: boolean } = {},
): Promise<SqliteReport> {
  requireFile(source);
  const isThere = existsSync(path);
  if (isThere && !replaces) refuseExisting(path, 'add --replace');
  const unlock = isThere ? lockFile(path) : () => {};
  const part = `${path}.part`;
  try {
    const report = await copyWhole(source, part);
    checkVersion(report.version, report.latest, source);
    // The write-ahead log of the existing file must not be applied to the backup.
    for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    renameSync(part, path);
    return report;
  } finally {
    removePart(part);
    unlock();
  }
}

/**
 * Copies a store, with its write-ahead log, and checks the copy. The file alone would lack what only the
 * log contains.
 */
async function copyWhole(path: string, part: string): Promise<SqliteReport> {
  try {
    {
      using database = new DatabaseSync(path, { readOnly: true });
      schemaVersion(database, path);
      // A log of an earlier copy must not be applied to this one.
      removePart(part);
      // Conversations are private, also while they are copied.
      closeSync(openSync(part, 'wx', 0o600));
      await backup(database, part);
    }
    return requireWhole(part, path);
  } catch (error) {
    throw storeFailure(path, error);
  }
}

/** Never throws: it must not hide why the copy failed. */
function removePart(part: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) {
    try {
      rmSync(`${part}${end}`, { force: true });
    } catch {
      // The next copy to this path removes the rest.
    }
  }
}

/** Brings the schema and the layout of a store file up to date. No process can have it open. */
export function migrateSqlite(path: string): SqliteReport {
  requireFile(path);
  const unlock = lockFile(path);
  try {
    {
      using database = new DatabaseSync(path);
      migrate(database, readMigrations(), path);
      if (!shrinks(database)) database.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM');
    }
    return checkSqlite(path);
  } catch (error) {
    throw storeFailure(path, error);
  } finally {
    unlock();
  }
}

/** Locks an existing file under its inode and its name. If one fails, none is held. */
function lockFile(path: string): () => void {
  const unlockInode = lockInode(path);
  try {
    const unlockOwner = lockOwner(path);
    return () => {
      unlockOwner();
      unlockInode();
    };
  } catch (error) {
    unlockInode();
    throw error;
  }
}

function shrinks(database: DatabaseSync): boolean {
  return database.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'] !== 0;
}

/** Checks `path`, which is `store` or a copy of it. */
function requireWhole(path: string, store = path): SqliteReport {
  const report = checkSqlite(path);
  const [problem] = report.problems;
  if (problem === undefined) return report;
  throw new LegateError('STORE_FAILED', `store ${store} is damaged: ${problem}; use another copy`);
}

function requireFile(path: string): void {
  if (existsSync(path)) return;
  throw new LegateError('STORE_FAILED', `store ${path}: there is no such file`);
}

function refuseExisting(path: string, fix: string): void {
  if (!existsSync(path)) return;
  throw new LegateError('STORE_FAILED', `${path} already exists; ${fix}`);
}
