import { join, resolve } from 'node:path';
import type { StoreSettings } from '../config/index.ts';
import type { Store } from './contract.ts';
import type { MemoryOptions } from './memory/memory-store.ts';
import type { MigrationStatus } from './postgres/migrations.ts';
import type { PostgresOptions } from './postgres/open-postgres.ts';
import type { SqliteOptions } from './sqlite/open-sqlite.ts';

/**
 * Which store to open.
 * @example const options: StoreOptions = { type: 'postgres', url: 'postgres://db/agents' };
 */
export type StoreOptions =
  | ({ readonly type: 'memory' } & MemoryOptions)
  | ({ readonly type: 'sqlite' } & SqliteOptions)
  | ({ readonly type: 'postgres' } & PostgresOptions);

/**
 * Opens a store. A driver is loaded when it is asked for, so a program pays for one only. `clock` is
 * for memory and SQLite where the options name none; PostgreSQL goes by its own.
 * @example const store = await openStore({ type: 'sqlite', path: '.legate/store.db' });
 */
export async function openStore(options: StoreOptions, clock?: { now(): number }): Promise<Store> {
  const given = clock === undefined ? {} : { clock };
  switch (options.type) {
    case 'memory':
      return (await import('./memory/memory-store.ts')).openMemory({ ...given, ...options });
    case 'sqlite':
      return (await import('./sqlite/open-sqlite.ts')).openSqlite({ ...given, ...options });
    case 'postgres':
      return (await import('./postgres/open-postgres.ts')).openPostgres(options);
  }
}

/** What `store:` of a project asks for; without the block, everything is kept beside the project. */
export function storeOptionsOf(
  settings: StoreSettings | undefined,
  directory: string,
): StoreOptions {
  const { type = 'sqlite', path = join('.legate', 'store.db') } = settings ?? {};
  if (type === 'memory') return { type };
  if (type === 'sqlite') return { type, path: resolve(directory, path) };
  const { url = '', maxConnections } = settings ?? {};
  return { type, url, ...(maxConnections !== undefined && { maxConnections }) };
}

/** Brings the schema of a PostgreSQL store up to date. The driver is loaded with the call. */
export async function migrateStore(url: string): Promise<MigrationStatus> {
  const { migrate } = await import('./postgres/migrations.ts');
  return migrate(url);
}

/**
 * Which version of the schema a PostgreSQL store has, which this program wants, and how far the wall
 * clock of this process is ahead of the database's.
 */
export async function storeStatus(
  url: string,
): Promise<MigrationStatus & { readonly skewMs: number }> {
  const { databaseSkewMs, migrationStatus } = await import('./postgres/migrations.ts');
  return { ...(await migrationStatus(url)), skewMs: await databaseSkewMs(url) };
}
