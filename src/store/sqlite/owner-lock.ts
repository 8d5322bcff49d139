import { DatabaseSync } from 'node:sqlite';
import { LegateError } from '../../protocol/index.ts';
import { isBusy } from './failure.ts';

/**
 * Makes this process the only owner of the store at `path`, and returns how to give that up. The
 * lock is the operating system's, held through a database file of its own: it ends with the process
 * however the process ends, and does not keep guests from the store.
 */
export function lockOwner(path: string): () => void {
  const lock = new DatabaseSync(`${path}-lock`, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new LegateError(
      'STORE_FAILED',
      `store ${path}: another process has it open; end that process, or give this one a path of its own`,
      { cause: error },
    );
  }
  return () => lock.close();
}
