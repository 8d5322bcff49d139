import type { MigrationStatus } from './postgres/index.ts';

/** Brings the schema of a PostgreSQL store up to date. The driver is loaded with the call. */
export async function migrateStore(url: string): Promise<MigrationStatus> {
  const { migrate } = await import('./postgres/index.ts');
  return migrate(url);
}

/**
 * Which version of the schema a PostgreSQL store has, which this program wants, and how far the wall
 * clock of this process is ahead of the database's.
 */
export async function storeStatus(
  url: string,
): Promise<MigrationStatus & { readonly skewMs: number }> {
  const { databaseSkewMs, migrationStatus } = await import('./postgres/index.ts');
  return { ...(await migrationStatus(url)), skewMs: await databaseSkewMs(url) };
}
