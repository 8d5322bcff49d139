export { keySegment } from './memory-key.ts';
export { memoryTools, type MemoryToolsOptions, sessionNamespace } from './memory-tools.ts';
export {
  type EditOptions,
  type MemoryEntry,
  type MemoryLimits,
  type MemoryQuery,
  type SaveOptions,
  WorkingMemory,
  type WorkingMemoryOptions,
} from './working-memory.ts';
