export * from './contract.ts';
export { openMemory, openMemoryReplicas } from './memory/index.ts';
export { openStore, type StoreOptions } from './open.ts';
export { storeOptionsOf } from './from-settings.ts';
export { migrateStore, storeStatus } from './migrate.ts';
export { ownerKey } from './owner.ts';
export { RecordSpace, type SpaceRecord } from './record-space.ts';
export { Replica } from './replica.ts';
export { isStoreFailure, reportedOutage, smallSkewMs } from './store-health.ts';
