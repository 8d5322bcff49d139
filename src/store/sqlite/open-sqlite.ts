import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { invalidConfiguration, LegateError } from '../../protocol/index.ts';
import type { Store, StoreClock } from '../contract.ts';
import { LocalStore, processClock } from '../local-store.ts';
import { probeRecords, WriteHealth } from '../store-health.ts';
import { outageReason, storeFailure } from './failure.ts';
import { checkVersion, migrate, readMigrations, schemaVersion } from './migrations.ts';
import { lockInode, lockOwner } from './owner-lock.ts';
import { SqliteTables } from './sqlite-tables.ts';

export interface SqliteOptions {
  /** The database file. A missing file, and its directory, is created readable for this user only. */
  readonly path: string;
  /**
   * Opens a store that another process may have open, for inspection and repair. A guest does not touch
   * running turns, and neither creates nor migrates a file. @default false
   */
  readonly guest?: boolean;
  /** How long a write waits for another process, in milliseconds. @default 5_000 */
  readonly busyTimeoutMs?: number;
  /** Maximum memory for pages of the file, in KiB. @default 16_384 */
  readonly cacheKiB?: number;
  /** Maximum size of the file, in bytes. Writes beyond it fail. @default no limit */
  readonly maxBytes?: number;
  /** Milliseconds since 1970. @default the system's clock */
  readonly clock?: { now(): number };
}

/**
 * Opens the store in a SQLite file. Every resolved write survives a power cut.
 *
 * One process owns the file. Turns that were running when the last owner closed or died are available
 * for takeover.
 */
export function openSqlite(options: SqliteOptions): Store {
  checkPath(options.path);
  const path = resolve(options.path);
  const guest = options.guest === true;
  const locks: (() => void)[] = [];
  const unlock = (): void => {
    for (const release of locks.splice(0)) release();
  };
  let database: DatabaseSync | undefined;
  try {
    if (!guest) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Resolves links, so that a file has one lock and one write-ahead log.
    const file = canonical(path);
    checkNames(file);
    const isThere = existsSync(file);
    // Before `checkFile`: opening a file under a second name creates a second write-ahead log.
    if (!guest && isThere) locks.push(lockInode(file));
    if (guest || isThere) checkFile(file, guest);
    if (!guest) {
      create(file);
      if (!isThere) locks.push(lockInode(file));
      locks.push(lockOwner(file));
      // A link that was created meanwhile would let another process bypass the lock.
      checkNames(file);
    }
    database = new DatabaseSync(file, { timeout: options.busyTimeoutMs ?? 5_000 });
    configure(database, options);
    if (!guest) {
      migrate(database, readMigrations(), path);
      const abandoned = 'UPDATE deliveries SET due_at = 0, claimed_by = NULL';
      database.exec(`${abandoned} WHERE is_head = 1 AND claimed_by IS NOT NULL`);
    }
    return storeOf(database, path, processClock(options.clock), unlock);
  } catch (error) {
    if (database?.isOpen === true) database.close();
    unlock();
    throw toOpenFailure(path, error);
  }
}

function storeOf(
  database: DatabaseSync,
  path: string,
  clock: StoreClock,
  unlock: () => void,
): LocalStore {
  const health: WriteHealth = new WriteHealth({
    driver: 'sqlite',
    reasonOf: outageReason,
    probe: () => probeRecords(tables.records),
  });
  const tables = new SqliteTables(database, {
    path,
    clock,
    onFailure: (failure) => health.failed(failure),
  });
  return new LocalStore({
    driver: 'sqlite',
    tables,
    clock,
    health,
    read: (run) => tables.commits.read(run),
    write: (run) => tables.commits.write(run),
    onSwept: () => tables.releaseSpace(),
    onClose() {
      if (!database.isOpen) return;
      health.close();
      tables.commits.close();
      database.close();
      unlock();
    },
  });
}

/** SQLite gives `:memory:` and URIs a special meaning; here they would become file names. */
function checkPath(path: string): void {
  if (path !== '' && path !== ':memory:' && !path.startsWith('file:')) return;
  throw invalidConfiguration(
    `store: ${JSON.stringify(path)} is not the path of a file; ` +
      "give one such as tasks.db, or use { type: 'memory' } for a store without a file",
  );
}

/** The path without symbolic links. The file and its directory can be missing. */
function canonical(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    const target = readlinkSync(path);
    throw new LegateError(
      'STORE_FAILED',
      `store ${path}: a symbolic link to ${target}, where there is no file; ` +
        'remove the link, or give the store the path it is to have',
    );
  }
  const directory = dirname(path);
  return existsSync(directory) ? join(realpathSync(directory), basename(path)) : path;
}

/**
 * A file with several names (hard links) has a write-ahead log for each name: data that is written
 * under one name is lost or damaged under another.
 */
function checkNames(path: string): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isDirectory() === true) {
    throw new LegateError(
      'STORE_FAILED',
      `store ${path}: is a folder; name a file in it, such as ${join(path, 'legate.db')}`,
    );
  }
  const names = file?.nlink ?? 1;
  if (names === 1) return;
  throw new LegateError(
    'STORE_FAILED',
    `store ${path}: the file has ${names} names (hard links), which would damage it; ` +
      'remove the other names, or copy the file',
  );
}

/** Conversations are private: only this user can read the file and its directory. */
function create(path: string): void {
  for (const file of [path, `${path}-lock`]) {
    // An existing file must not be opened here: closing it would drop SQLite's locks on it.
    if (!existsSync(file)) closeSync(openSync(file, 'ax', 0o600));
  }
}

function configure(database: DatabaseSync, options: SqliteOptions): void {
  const settings = {
    // Takes effect before the first table. A file with tables keeps its mode until it is rebuilt.
    auto_vacuum: 'INCREMENTAL',
    journal_mode: 'WAL',
    synchronous: 'FULL',
    // In pages. A busy store rewrites the same pages, so a later checkpoint writes fewer.
    wal_autocheckpoint: 4_000,
    // In bytes. Without a limit the log would keep its peak size.
    journal_size_limit: 64 * 1024 * 1024,
    // Negative: in KiB.
    cache_size: -Math.ceil(options.cacheKiB ?? 16_384),
    temp_store: 'MEMORY',
  };
  for (const [name, value] of Object.entries(settings)) {
    database.exec(`PRAGMA ${name} = ${value}`);
  }
  if (options.maxBytes === undefined) return;
  const pageSize = Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
  const pages = Math.max(1, Math.floor(options.maxBytes / pageSize));
  database.exec(`PRAGMA max_page_count = ${pages}`);
}

/** Checks the file before any change. */
function checkFile(path: string, guest: boolean): void {
  const known = readMigrations().at(-1)?.version ?? 0;
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const version = schemaVersion(database, path);
    checkVersion(version, known, path);
    if (guest && version < known) {
      throw new LegateError(
        'STORE_VERSION',
        `store ${path}: its schema has version ${version}, and this program needs ${known}; ` +
          'start the server once, which brings the store up to date',
      );
    }
  } finally {
    database.close();
  }
}

function toOpenFailure(path: string, thrown: unknown): unknown {
  if (thrown instanceof Error && 'code' in thrown && 'syscall' in thrown) {
    return new LegateError(
      'STORE_FAILED',
      `store ${path} can't be created (${String(thrown.code)}); ` +
        'make its directory writable for this user, or give the store another path',
      { cause: thrown },
    );
  }
  return storeFailure(path, thrown);
}
