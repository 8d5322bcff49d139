import type { DatabaseSync, StatementSync } from 'node:sqlite';
// Named imports, so that a test's fake timers do not stop the disk.
import { nextTick } from 'node:process';
import { clearImmediate, setImmediate } from 'node:timers';
import { LegateError } from '../../protocol/index.ts';
import { storeFailure } from './failure.ts';

interface Waiting {
  readonly run: () => unknown;
  readonly tell: ((value: unknown) => void) | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Failure {
  readonly error: unknown;
  /** No operation was even begun. */
  readonly isBlocked: boolean;
}

/** A transaction that waits for what comes of telling. */
interface Open {
  readonly group: readonly Waiting[];
  readonly results: unknown[];
  readonly ended: Promise<void>;
  readonly end: () => void;
}

export interface GroupCommitHooks {
  /** Called inside a transaction when another process has written since the last one. */
  readonly onForeignWrite: () => void;
  /** Called inside a transaction before it commits. */
  readonly beforeCommit: () => void;
  /** Called after a rollback: whatever is kept in memory may be ahead of the file. */
  readonly onRollback: () => void;
  /** Told of every operation that failed. */
  readonly onFailure?: (failure: unknown) => void;
}

/** Operations of one transaction; further ones wait for the next one. */
const groupLimit = 1_000;

/**
 * For how many turns of the event loop, and after how many milliseconds no more, operations are
 * gathered while each turn brings more: an idle turn costs a hundredth of a flush of the disk, and
 * a busy one may cost many.
 */
const gatherLimit = { turns: 16, ms: 1 };

/**
 * Gathers operations into one transaction, so that all of them share one flush of the disk. Each
 * settles after the commit; one that asks for it is told its result before, and what is written
 * because of that at once, before the event loop goes on, is part of the same transaction.
 *
 * - **idle**: nothing waits.
 * - **gathering**: operations wait for the end of the event loop's turn, and of the next one as long
 *   as more of them come.
 * - **open**: all of them ran and some were told; the transaction ends with the current turn.
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
  /** How many waited at the end of the last turn, how many turns they were gathered for, since when. */
  #gathered = 0;
  #turns = 0;
  #since = 0;
  #immediate: NodeJS.Immediate | undefined;
  #open: Open | undefined;
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

  /**
   * Resolves when what `run` did is durable. `tell` hears of its result before that, once all
   * operations of the transaction ran, or never when one of them threw. It must not throw itself.
   * After a rollback `run` runs again, and has to come to the result that was told.
   */
  write<T>(run: () => T, tell?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) {
        reject(closed(this.#path));
        return;
      }
      this.#waiting.push({
        run,
        tell: tell as Waiting['tell'],
        resolve: resolve as Waiting['resolve'],
        reject,
      });
      if (this.#open === undefined) this.#schedule();
    });
  }

  /** Sees what is committed, never a transaction under way. */
  async read<T>(run: () => T): Promise<T> {
    while (this.#open !== undefined) await this.#open.ended;
    if (this.#isClosed) throw closed(this.#path);
    try {
      return run();
    } catch (error) {
      throw storeFailure(this.#path, error);
    }
  }

  close(): void {
    this.#join();
    while (this.#waiting.length > 0) {
      this.#flush();
      this.#join();
    }
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
    const results: unknown[] = [];
    const failure = this.#start() ?? this.#run(group, results);
    if (failure === undefined && group.some(({ tell }) => tell !== undefined)) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      this.#open = { group, results, ended, end };
      tellAll(group, results);
      // After all that can be done without waiting for anything outside of the process.
      queueMicrotask(() => nextTick(() => this.#join()));
      return;
    }
    this.#end(group, results, failure ?? this.#finish());
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Runs what came of telling, and commits. */
  #join(): void {
    if (this.#open === undefined) return;
    const { group, results, end } = this.#open;
    const joined = this.#waiting.splice(0, groupLimit);
    const failure = this.#run(joined, results) ?? this.#finish();
    this.#open = undefined;
    this.#end([...group, ...joined], results, failure);
    end();
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Settles the operations of a transaction that was committed, or has failed. */
  #end(group: readonly Waiting[], results: readonly unknown[], failure: Failure | undefined): void {
    if (failure === undefined) {
      for (let index = 0; index < group.length; index += 1) group[index]?.resolve(results[index]);
    } else if (failure.isBlocked || group.length === 1) this.#reject(group, failure);
    else this.#runEach(group);
  }

  #runEach(group: readonly Waiting[]): void {
    for (let index = 0; index < group.length; index += 1) {
      const alone = group.slice(index, index + 1);
      const results: unknown[] = [];
      const failure = this.#start() ?? this.#run(alone, results) ?? this.#finish();
      if (failure === undefined) this.#end(alone, results, undefined);
      else if (failure.isBlocked) {
        // A file that cannot be written now would make each of the others wait for it in vain.
        this.#reject(group.slice(index), failure);
        return;
      } else this.#reject(alone, failure);
    }
  }

  /** Begins a transaction. */
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

  #run(group: readonly Waiting[], results: unknown[]): Failure | undefined {
    try {
      for (const { run } of group) results.push(run());
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
    // Some failures, a full disk among them, have rolled back by themselves.
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

function tellAll(group: readonly Waiting[], results: readonly unknown[]): void {
  for (let index = 0; index < group.length; index += 1) group[index]?.tell?.(results[index]);
}

function closed(path: string): LegateError {
  return new LegateError('STORE_FAILED', `store ${path} is closed`);
}
