import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LegateError } from '../../protocol/index.ts';
import type { Store } from '../contract.ts';
import { storeFailure } from './failure.ts';
import { checkVersion, migrate, readMigrations, schemaVersion } from './migrations.ts';
import { lockOwner } from './owner-lock.ts';
import { SqliteStore } from './sqlite-store.ts';

export interface SqliteOptions {
  /** The database file. Made where it is missing, readable for this user only, and so its directory. */
  readonly path: string;
  /**
   * Joins a store that another process may have open, to look and to mend: it leaves running turns
   * alone, and neither makes nor migrates a file. @default false
   */
  readonly guest?: boolean;
  /** How long a write waits for another process, in milliseconds. @default 5_000 */
  readonly busyTimeoutMs?: number;
  /** The most memory for pages of the file, in KiB. @default 16_384 */
  readonly cacheKiB?: number;
}

/**
 * Opens the store in a SQLite file. Every write that resolved survives a power cut.
 *
 * One process owns the file; turns that were running when it was last closed or killed run no
 * longer, and are there to be taken over.
 */
export function openSqlite(options: SqliteOptions): Store {
  const path = resolve(options.path);
  const guest = options.guest === true;
  let unlock = (): void => {};
  let database: DatabaseSync | undefined;
  try {
    if (!guest) create(path);
    checkFile(path, guest);
    if (!guest) unlock = lockOwner(path);
    database = new DatabaseSync(path, { timeout: options.busyTimeoutMs ?? 5_000 });
    database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000',
    );
    database.exec(`PRAGMA cache_size = ${-Math.ceil(options.cacheKiB ?? 16384)}`);
    // Without a limit the log would keep the size of its busiest moment.
    database.exec('PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY');
    if (!guest) {
      migrate(database, readMigrations(), path);
      const abandoned = 'UPDATE deliveries SET due_at = 0, claimed_by = NULL';
      database.exec(`${abandoned} WHERE is_head = 1 AND claimed_by IS NOT NULL`);
    }
    return new SqliteStore(database, path, unlock);
  } catch (error) {
    if (database?.isOpen === true) database.close();
    unlock();
    throw toOpenFailure(path, error);
  }
}

/** Conversations are private: nobody else may read the file or its directory. */
function create(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A file that exists must not be opened here: closing it would drop SQLite's locks on it.
  for (const file of [path, `${path}-lock`]) {
    if (!existsSync(file)) closeSync(openSync(file, 'wx', 0o600));
  }
}

/** Looks before anything is changed. */
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
      `store ${path} cannot be made (${String(thrown.code)}); ` +
        'make its directory writable for this user, or give the store another path',
      { cause: thrown },
    );
  }
  return storeFailure(path, thrown);
}
