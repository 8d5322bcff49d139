import type { TaskState } from '../../protocol/index.ts';
import type { LogEvent, Snapshot, TaskRecord } from '../contract.ts';
import type { PushConfig } from './memory-push.ts';

/** A task as it stands in memory; changed in place, never handed out. */
export interface TaskEntry {
  readonly id: string;
  readonly agent: string;
  readonly owner: string;
  readonly contextId: string;
  state: TaskState;
  version: number;
  statusTime: number;
  cancelRequested: boolean;
  snapshot: Snapshot;
  /** All events, in order: number n is at n - 1. */
  readonly log: LogEvent[];
  /** Unset until a configuration is put. */
  push: Map<string, PushConfig> | undefined;
  /** Where the task stands in its owner's order; any other mention of it there is stale. */
  position: number;
}

export function toRecord(task: TaskEntry): TaskRecord {
  const { snapshot } = task;
  return {
    id: task.id,
    owner: task.owner,
    contextId: task.contextId,
    state: task.state,
    version: task.version,
    statusTime: task.statusTime,
    cancelRequested: task.cancelRequested,
    hasPush: task.push !== undefined && task.push.size > 0,
    snapshot,
    tail: snapshot.version === task.version ? [] : task.log.slice(snapshot.version),
  };
}
