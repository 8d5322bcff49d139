import type { Store } from './contract.ts';
import type { MemoryOptions } from './memory/index.ts';
import type { PostgresOptions } from './postgres/index.ts';
import type { SqliteOptions } from './sqlite/index.ts';

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
      return (await import('./memory/index.ts')).openMemory({ ...given, ...options });
    case 'sqlite':
      return (await import('./sqlite/index.ts')).openSqlite({ ...given, ...options });
    case 'postgres':
      return (await import('./postgres/index.ts')).openPostgres(options);
  }
}
