export * from './contract.ts';
export { openMemory, openMemoryReplicas } from './memory/memory-store.ts';
export {
  maintainSqlite,
  isStore,
  openStore,
  type StoreOptions,
  storeOptionsOf,
  migrateStore,
  storeStatus,
} from './open.ts';
export type { SqliteReport } from './sqlite/maintenance.ts';
export { digestId, digestOf, etagOf } from './digest.ts';
export { ownerKey, readOwnerKey } from './encoding.ts';
export { listRecords, RecordSpace, type SpaceRecord } from './record-space.ts';
export { StoredFormat } from './stored-format.ts';
export { Replica } from './replica.ts';
export { isStoreFailure, reportedOutage, smallSkewMs } from './store-health.ts';
