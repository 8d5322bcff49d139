import type { DatabaseSync } from 'node:sqlite';
import { LegateError } from '../../protocol/index.ts';
import { type Migration, readMigrationFiles } from '../migration-files.ts';

/** "LGAT": marks a database file as a store. */
const applicationId = 0x4c_47_41_54;

/** The numbered .sql files beside this module, in order. */
export function readMigrations(): readonly Migration[] {
  return readMigrationFiles(new URL('./migrations/', import.meta.url));
}

/** The schema version of a file; 0 if it is empty. Throws for files that are not stores. */
export function schemaVersion(database: DatabaseSync, path: string): number {
  const version = pragma(database, 'user_version');
  const isEmpty = pragma(database, 'schema_version') === 0;
  if (isEmpty || pragma(database, 'application_id') === applicationId) return version;
  throw new LegateError(
    'STORE_FAILED',
    `store ${path}: the file is a database of another program; give the store a path of its own`,
  );
}

/** Refuses a file that a newer version of Legate has written. */
export function checkVersion(version: number, known: number, path: string): void {
  if (version <= known) return;
  throw new LegateError(
    'STORE_VERSION',
    `store ${path}: its schema has version ${version}, and this program knows versions up to ` +
      `${known}; use the newer version of the program that wrote it, or another path. ` +
      'The file was not changed.',
  );
}

/** Migrates the schema to the latest version, in one transaction. */
export function migrate(
  database: DatabaseSync,
  migrations: readonly Pick<Migration, 'version' | 'sql'>[],
  path: string,
): void {
  const known = migrations.at(-1)?.version ?? 0;
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = schemaVersion(database, path);
    checkVersion(version, known, path);
    for (const migration of migrations) {
      if (migration.version > version) database.exec(migration.sql);
    }
    if (version < known) {
      database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${known}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function pragma(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get();
  return Number(row?.[name] ?? 0);
}
