export * from './contract.ts';
export { type MemoryOptions, openMemory, openMemoryReplicas } from './memory/index.ts';
export { openStore, type StoreOptions } from './open.ts';
export { storeOptionsOf } from './from-settings.ts';
export { migrateStore, storeStatus } from './migrate.ts';
export { ownerKey } from './owner.ts';
export { smallSkewMs } from './store-health.ts';
export type { MigrationStatus, PostgresOptions } from './postgres/index.ts';
export type { SqliteOptions } from './sqlite/index.ts';
