import type { DatabaseSync, StatementSync } from 'node:sqlite';
// Named imports, so that a test's fake timers do not stop the disk.
import { clearImmediate, setImmediate } from 'node:timers';
import { LegateError } from '../../protocol/index.ts';
import { storeFailure } from './failure.ts';

interface Waiting {
  readonly run: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Failure {
  readonly error: unknown;
  /** No operation was even begun. */
  readonly isBlocked: boolean;
}

export interface GroupCommitHooks {
  /** Called inside a transaction when another process has written since the last one. */
  readonly onForeignWrite: () => void;
  /** Called inside a transaction before it commits. */
  readonly beforeCommit: () => void;
  /** Called after a rollback: whatever is kept in memory may be ahead of the file. */
  readonly onRollback: () => void;
}

/** Operations of one transaction; further ones wait for the next turn of the event loop. */
const groupLimit = 1_000;

/**
 * Gathers the operations of one turn of the event loop into one transaction, so that all of them
 * share one flush of the disk. Each settles after the commit.
 *
 * - **idle**: nothing waits.
 * - **gathering**: operations wait for the end of the event loop's turn.
 * - **closed**: what waited was written; new operations are refused.
 *
 * When an operation throws, the transaction is rolled back and every operation runs again in one of
 * its own, so that only the guilty one fails.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #hooks: GroupCommitHooks;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  readonly #dataVersion: StatementSync;
  #knownDataVersion: unknown;
  #waiting: Waiting[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #isClosed = false;

  constructor(database: DatabaseSync, path: string, hooks: GroupCommitHooks) {
    this.#database = database;
    this.#path = path;
    this.#hooks = hooks;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    this.#dataVersion = database.prepare('PRAGMA data_version');
    this.#knownDataVersion = this.#dataVersion.get()?.['data_version'];
  }

  write<T>(run: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) {
        reject(closed(this.#path));
        return;
      }
      this.#waiting.push({ run, resolve: resolve as Waiting['resolve'], reject });
      this.#immediate ??= setImmediate(() => this.#flush());
    });
  }

  /** Sees what is committed, never a transaction under way: those begin and end in one go. */
  async read<T>(run: () => T): Promise<T> {
    if (this.#isClosed) throw closed(this.#path);
    try {
      return run();
    } catch (error) {
      throw storeFailure(this.#path, error);
    }
  }

  close(): void {
    while (this.#waiting.length > 0) this.#flush();
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#isClosed = true;
  }

  #flush(): void {
    const group = this.#waiting.splice(0, groupLimit);
    this.#immediate = this.#waiting.length > 0 ? setImmediate(() => this.#flush()) : undefined;
    const failure = this.#run(group);
    if (failure === undefined) return;
    if (failure.isBlocked || group.length === 1) {
      this.#reject(group, failure);
      return;
    }
    for (let index = 0; index < group.length; index += 1) {
      const alone = this.#run(group.slice(index, index + 1));
      if (alone === undefined) continue;
      // A file that cannot be written now would make each of the others wait for it in vain.
      const failed = alone.isBlocked ? group.slice(index) : group.slice(index, index + 1);
      this.#reject(failed, alone);
      if (alone.isBlocked) return;
    }
  }

  /** Runs operations in one transaction, and settles them when it has committed. */
  #run(group: readonly Waiting[]): Failure | undefined {
    try {
      this.#begin.run();
    } catch (error) {
      return { error, isBlocked: true };
    }
    const results: unknown[] = [];
    try {
      const dataVersion = this.#dataVersion.get()?.['data_version'];
      if (dataVersion !== this.#knownDataVersion) {
        this.#knownDataVersion = dataVersion;
        this.#hooks.onForeignWrite();
      }
      for (const { run } of group) results.push(run());
      this.#hooks.beforeCommit();
      this.#commit.run();
    } catch (error) {
      // Some failures, a full disk among them, have rolled back by themselves.
      if (this.#database.isTransaction) this.#rollback.run();
      this.#hooks.onRollback();
      return { error, isBlocked: false };
    }
    for (let index = 0; index < group.length; index += 1) group[index]?.resolve(results[index]);
    return undefined;
  }

  #reject(group: readonly Waiting[], { error }: Failure): void {
    const failure = storeFailure(this.#path, error);
    for (const { reject } of group) reject(failure);
  }
}

function closed(path: string): LegateError {
  return new LegateError('STORE_FAILED', `store ${path} is closed`);
}
