export { openMemory, openMemoryReplicas } from './memory-store.ts';
