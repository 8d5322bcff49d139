export * from './contract.ts';
export { openMemory, openMemoryReplicas } from './memory/index.ts';
export { openStore, type StoreOptions, storeOptionsOf, migrateStore, storeStatus } from './open.ts';
export { ownerKey } from './owner.ts';
export { RecordSpace, type SpaceRecord } from './record-space.ts';
export { StoredFormat } from './stored-format.ts';
export { Replica } from './replica.ts';
export { isStoreFailure, reportedOutage, smallSkewMs } from './store-health.ts';
