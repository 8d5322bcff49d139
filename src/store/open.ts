import { join, resolve } from 'node:path';
import type { StoreSettings } from '../config/index.ts';
import { checkOptions, type OptionNames } from '../protocol/index.ts';
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
  | ({ /** Which store. */ readonly type: 'memory' } & MemoryOptions)
  | ({ readonly type: 'sqlite' } & SqliteOptions)
  | ({ readonly type: 'postgres' } & PostgresOptions);

const memoryNames: OptionNames<MemoryOptions> = { clock: 'object' };
const sqliteNames: OptionNames<SqliteOptions> = {
  path: 'string',
  guest: 'boolean',
  busyTimeoutMs: 'number',
  cacheKiB: 'number',
  maxBytes: 'number',
  clock: 'object',
};
const postgresNames: OptionNames<PostgresOptions> = {
  url: 'string',
  ssl: { oneOf: ['boolean', 'object'] },
  connectTimeoutMs: 'number',
  listenUrl: 'string',
  maxConnections: 'number',
  statementTimeoutMs: 'number',
  waitMs: 'number',
  migrates: 'boolean',
};
const drivers = {
  memory: { names: memoryNames, required: [] },
  sqlite: { names: sqliteNames, required: ['path'] },
  postgres: { names: postgresNames, required: ['url'] },
} as const;
const type = Object.keys(drivers);

/** Whether the value is an open store, not options. */
export function isStore(value: Store | StoreOptions): value is Store {
  return 'driver' in value;
}

function checkStoreOptions(options: StoreOptions): void {
  const driver = Object.entries(drivers).find(([name]) => name === options?.type)?.[1];
  const { names = { ...sqliteNames, ...postgresNames }, required = [] } = driver ?? {};
  const owner = driver === undefined ? 'openStore' : `openStore({ type: '${options.type}' })`;
  checkOptions(owner, options, { type, ...names }, ['type', ...required]);
}

/**
 * Opens a store. Loads only the driver in use. `clock` is for memory and SQLite if the options have no
 * clock; PostgreSQL uses that of the database.
 * @example const store = await openStore({ type: 'sqlite', path: '.legate/store.db' });
 */
export async function openStore(options: StoreOptions, clock?: { now(): number }): Promise<Store> {
  checkStoreOptions(options);
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

/**
 * Converts `store:` of a project to options. Without the section, the store is a SQLite file in the
 * project's directory.
 */
export function storeOptionsOf(
  settings: StoreSettings | undefined,
  directory: string,
): StoreOptions {
  const { type = 'sqlite', path = join('.legate', 'store.db') } = settings ?? {};
  if (type === 'memory') return { type };
  if (type === 'sqlite') return { type, path: resolve(directory, path) };
  const { url = '', listenUrl, maxConnections } = settings ?? {};
  return {
    type,
    url,
    ...(listenUrl !== undefined && { listenUrl }),
    ...(maxConnections !== undefined && { maxConnections }),
  };
}

/** Backup, restore, check and migration of SQLite files. Loads the driver on call. */
export function maintainSqlite() {
  return import('./sqlite/maintenance.ts');
}

/** Brings the schema of a PostgreSQL store up to date. Loads the driver on call. */
export async function migrateStore(url: string): Promise<MigrationStatus> {
  const { migrate } = await import('./postgres/migrations.ts');
  return migrate(url);
}

/**
 * The schema version of a PostgreSQL store, the version that this program needs, and how far the wall
 * clock of this process is ahead of the database's.
 */
export async function storeStatus(
  url: string,
): Promise<MigrationStatus & { readonly skewMs: number }> {
  const { databaseSkewMs, migrationStatus } = await import('./postgres/migrations.ts');
  return { ...(await migrationStatus(url)), skewMs: await databaseSkewMs(url) };
}
