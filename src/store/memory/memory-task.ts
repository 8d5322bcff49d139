import type { TaskState } from '../../protocol/index.ts';
import type { TaskRow } from '../tables.ts';

/** A task, its log, and the lists that it is in. */
export interface MemoryTask extends TaskRow {
  /** As text: the garbage collector copies fewer objects. Number n of the log is at n - 1. */
  readonly log: string[];
  snapshot: string;
  snapshotVersion: number;
  readonly owned: OwnedTasks;
  /** The tasks of its context, this one among them. */
  readonly siblings: MemoryTask[];
}

/** The tasks of one owner, each list in the order of `list`, but oldest first. */
export interface OwnedTasks {
  readonly all: MemoryTask[];
  readonly byState: Map<TaskState, MemoryTask[]>;
  readonly byContext: Map<string, MemoryTask[]>;
}
