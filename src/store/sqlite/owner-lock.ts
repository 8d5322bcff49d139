import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LegateError } from '../../protocol/index.ts';
import { isBusy } from './failure.ts';

/**
 * Makes this process the only owner of the store at `path`. Returns a function that releases the lock.
 * It is a lock of the operating system on a separate database file: it ends with the process even after
 * a crash, and does not block guests of the store.
 */
export function lockOwner(path: string): () => void {
  return lock(`${path}-lock`, path);
}

/**
 * Locks an existing file by its inode: a file that was moved while it is open, or is mounted by itself,
 * has another path and the same inode. The lock works only between processes of one user that share the
 * directory for temporary files.
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
 * The lock file of an inode for processes of this user and host. The file stays when the lock ends:
 * removing it would let two processes lock two files of one name. Undefined without a private directory
 * for temporary files, as in a container with a read-only root: the lock beside the store still
 * applies.
 */
function inodeLockFile(path: string): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  const directory = join(tmpdir(), `legate-${user}`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { uid, mode } = lstatSync(directory);
    // Other users can create files in the parent directory, also with this name.
    if (uid !== user || (mode & 0o022) !== 0) return undefined;
    const { dev, ino } = statSync(path, { bigint: true });
    const file = join(directory, `${dev}-${ino}.lock`);
    new DatabaseSync(file).close();
    return file;
  } catch {
    return undefined;
  }
}
