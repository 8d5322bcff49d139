import type { DatabaseSync, StatementSync } from 'node:sqlite';
// Named imports, so that fake timers of a test do not stop commits.
import { clearImmediate, setImmediate } from 'node:timers';
import { LegateError } from '../../protocol/index.ts';
import { StoreMeter } from '../store-meter.ts';
import { storeFailure } from './failure.ts';

interface Waiting {
  readonly run: () => void;
  /** Resolves with the result of the last run. */
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Failure {
  readonly error: unknown;
  /** No operation was started. */
  readonly isBlocked: boolean;
}

export interface GroupCommitHooks {
  /** Called inside a transaction when another process has written since the last one. */
  readonly onForeignWrite: () => void;
  /** Called inside a transaction before it commits. */
  readonly beforeCommit: () => void;
  /** Called after a rollback: copies in memory may be ahead of the file. */
  readonly onRollback: () => void;
  /** Called with every operation that failed. */
  readonly onFailure?: (failure: unknown) => void;
}

/** Maximum operations of one transaction. Further operations wait for the next transaction. */
const groupLimit = 1_000;

/**
 * Limits for collecting operations while each iteration of the event loop adds more: iterations, and
 * milliseconds. An idle iteration costs a hundredth of a flush of the disk, and a busy one can cost
 * many flushes.
 */
const gatherLimit = { turns: 16, ms: 1 };

/**
 * Groups operations into one transaction, so that all of them share one flush of the disk. Each settles
 * after the commit.
 *
 * - **idle**: no operation waits.
 * - **gathering**: operations wait for the end of the event loop iteration, and of the next one while
 *   more operations arrive.
 * - **closed**: waiting operations were written; new operations are refused.
 *
 * When an operation throws, the transaction is rolled back and every operation runs again in its own
 * transaction, so that only the faulty operation fails.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #hooks: GroupCommitHooks;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #meter = new StoreMeter('sqlite');
  #knownDataVersion: unknown;
  #waiting: Waiting[] = [];
  /**
   * The operations that waited at the end of the last iteration, the number of iterations, and their
   * start.
   */
  #gathered = 0;
  #turns = 0;
  #since = 0;
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

  /** Resolves when the writes of `run` are durable. */
  write<T>(run: () => T): Promise<T> {
    return this.#meter.measure(
      'write',
      () =>
        new Promise<T>((resolve, reject) => {
          if (this.#isClosed) {
            reject(closed(this.#path));
            return;
          }
          let result: T;
          const keepResult = (): void => void (result = run());
          this.#waiting.push({ run: keepResult, resolve: () => resolve(result), reject });
          this.#schedule();
        }),
    );
  }

  /** Reads committed data. */
  read<T>(run: () => T): Promise<T> {
    return this.#meter.measure('read', async () => {
      if (this.#isClosed) throw closed(this.#path);
      try {
        return run();
      } catch (error) {
        throw storeFailure(this.#path, error);
      }
    });
  }

  close(): void {
    while (this.#waiting.length > 0) this.#flush();
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#isClosed = true;
  }

  #schedule(): void {
    this.#immediate ??= setImmediate(() => this.#gather());
  }

  #gather(): void {
    this.#immediate = undefined;
    if (this.#mayGather()) {
      this.#gathered = this.#waiting.length;
      this.#turns += 1;
      this.#schedule();
    } else {
      this.#gathered = 0;
      this.#turns = 0;
      this.#flush();
    }
  }

  #mayGather(): boolean {
    if (this.#turns === 0) this.#since = performance.now();
    return (
      this.#waiting.length > this.#gathered &&
      this.#waiting.length < groupLimit &&
      this.#turns < gatherLimit.turns &&
      performance.now() - this.#since < gatherLimit.ms
    );
  }

  #flush(): void {
    const group = this.#waiting.splice(0, groupLimit);
    this.#meter.group(group.length);
    this.#end(group, this.#start() ?? this.#run(group) ?? this.#finish());
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Settles the operations of a committed or failed transaction. */
  #end(group: readonly Waiting[], failure: Failure | undefined): void {
    if (failure === undefined) for (const { resolve } of group) resolve();
    else if (failure.isBlocked || group.length === 1) this.#reject(group, failure);
    else this.#runEach(group);
  }

  #runEach(group: readonly Waiting[]): void {
    for (let index = 0; index < group.length; index += 1) {
      const alone = group.slice(index, index + 1);
      const failure = this.#start() ?? this.#run(alone) ?? this.#finish();
      if (failure === undefined) this.#end(alone, undefined);
      else if (failure.isBlocked) {
        // Each remaining operation would wait for the locked file again.
        this.#reject(group.slice(index), failure);
        return;
      } else this.#reject(alone, failure);
    }
  }

  /** Opens a transaction. */
  #start(): Failure | undefined {
    try {
      this.#begin.run();
    } catch (error) {
      return { error, isBlocked: true };
    }
    try {
      const dataVersion = this.#dataVersion.get()?.['data_version'];
      if (dataVersion !== this.#knownDataVersion) {
        this.#knownDataVersion = dataVersion;
        this.#hooks.onForeignWrite();
      }
      return undefined;
    } catch (error) {
      return this.#undo(error);
    }
  }

  #run(group: readonly Waiting[]): Failure | undefined {
    try {
      for (const { run } of group) run();
      return undefined;
    } catch (error) {
      return this.#undo(error);
    }
  }

  #finish(): Failure | undefined {
    try {
      this.#hooks.beforeCommit();
      this.#commit.run();
      return undefined;
    } catch (error) {
      return this.#undo(error);
    }
  }

  #undo(error: unknown): Failure {
    // SQLite has already rolled back after some failures, such as a full disk.
    if (this.#database.isTransaction) this.#rollback.run();
    this.#hooks.onRollback();
    return { error, isBlocked: false };
  }

  #reject(group: readonly Waiting[], { error }: Failure): void {
    const failure = storeFailure(this.#path, error);
    for (const { reject } of group) {
      this.#hooks.onFailure?.(failure);
      reject(failure);
    }
  }
}

function closed(path: string): LegateError {
  return new LegateError('STORE_FAILED', `store ${path} is closed`);
}
