export { type MemoryOptions, openMemory, openMemoryReplicas } from './memory-store.ts';
