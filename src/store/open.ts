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
 * Opens a store. A driver is loaded when it is asked for, so a program pays for one only.
 * @example const store = await openStore({ type: 'sqlite', path: '.legate/store.db' });
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  switch (options.type) {
    case 'memory':
      return (await import('./memory/index.ts')).openMemory(options);
    case 'sqlite':
      return (await import('./sqlite/index.ts')).openSqlite(options);
    case 'postgres':
      return (await import('./postgres/index.ts')).openPostgres(options);
  }
}
