import type { Store, StoreClock } from '../contract.ts';
import { LocalStore, processClock, SharedMedium } from '../local-store.ts';
import { neverOut } from '../store-health.ts';
import { MemoryTables } from './memory-tables.ts';

/**
 * Options of a store in memory.
 * @example const store = openMemory({ clock: { now: () => Date.UTC(2026, 0, 1) } });
 */
export interface MemoryOptions {
  /** Milliseconds since 1970. @default the system's clock */
  readonly clock?: { now(): number };
}

/** A store in this process's memory, for tests, examples and services that can lose their data. */
export function openMemory(options: MemoryOptions = {}): Store {
  const clock = processClock(options.clock);
  return storeOf(new MemoryTables(clock), clock);
}

/**
 * Several stores over one memory, each for one replica, which see each other's writes as replicas
 * on one database do.
 * @example const [first, second] = openMemoryReplicas(2);
 */
export function openMemoryReplicas(count: number, options: MemoryOptions = {}): Store[] {
  const clock = processClock(options.clock);
  const tables = new MemoryTables(clock);
  const medium = new SharedMedium(clock);
  return Array.from({ length: count }, () => storeOf(tables, clock, medium));
}

function storeOf(tables: MemoryTables, clock: StoreClock, medium?: SharedMedium): Store {
  const run = async <T>(work: () => T): Promise<T> => work();
  return new LocalStore({
    driver: 'memory',
    tables,
    clock,
    health: neverOut(),
    read: run,
    write: run,
    ...(medium !== undefined && { medium }),
  });
}
