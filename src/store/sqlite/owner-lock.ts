import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LegateError } from '../../protocol/index.ts';
import { isBusy } from './failure.ts';

/**
 * Makes this process the only owner of the store at `path`, and returns how to give that up. The
 * lock is the operating system's, held through a database file of its own: it ends with the process
 * however the process ends, and does not keep guests from the store.
 */
export function lockOwner(path: string): () => void {
  return lock(`${path}-lock`, path);
}

/**
 * The same for a file that exists, whatever its path: one that was moved while it is open, or mounted
 * by itself, has another path and the same inode. Only processes of one user that share the directory
 * for temporary files see each other's lock.
 */
export function lockInode(path: string): () => void {
  const file = inodeLockFile(path);
  return file === undefined ? () => {} : lock(file, path);
}

function lock(file: string, path: string): () => void {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new LegateError(
      'STORE_FAILED',
      `store ${path}: another process has it open; end that process, or give this one a path of its own`,
      { cause: error },
    );
  }
  return () => database.close();
}

/**
 * Where processes of this user and host lock an inode. The file stays when the lock ends: removing it
 * would let two processes hold locks on two files of one name. Undefined where there is no directory for
 * temporary files that is ours alone, as in a container with a read-only root: the lock beside the
 * store holds all the same.
 */
function inodeLockFile(path: string): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  const directory = join(tmpdir(), `legate-${user}`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { uid, mode } = lstatSync(directory);
    // Others may make files in the directory above, and one of this name before us.
    if (uid !== user || (mode & 0o022) !== 0) return undefined;
    const { dev, ino } = statSync(path, { bigint: true });
    const file = join(directory, `${dev}-${ino}.lock`);
    new DatabaseSync(file).close();
    return file;
  } catch {
    return undefined;
  }
}
