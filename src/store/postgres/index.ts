export { databaseSkewMs, migrate, migrationStatus, type MigrationStatus } from './migrations.ts';
export { openPostgres, type PostgresOptions } from './open-postgres.ts';
export type { PostgresStore } from './postgres-store.ts';
export type { Traffic } from './traffic.ts';
