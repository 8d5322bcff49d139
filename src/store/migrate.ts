import type { MigrationStatus } from './postgres/index.ts';

/** Brings the schema of a PostgreSQL store up to date. The driver is loaded with the call. */
export async function migrateStore(url: string): Promise<MigrationStatus> {
  const { migrate } = await import('./postgres/index.ts');
  return migrate(url);
}

/** Which version of the schema a PostgreSQL store has, and which this program wants. */
export async function storeStatus(url: string): Promise<MigrationStatus> {
  const { migrationStatus } = await import('./postgres/index.ts');
  return migrationStatus(url);
}
