import { Json, type TaskState } from '../../protocol/index.ts';
import type { Snapshot, TaskRecord } from '../contract.ts';
import type { EventLog } from './event-log.ts';
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
  /** Unset once sealed. */
  snapshot: Snapshot | undefined;
  readonly log: EventLog;
  /** The snapshot of a task that has ended, as text, and its version. */
  sealedTask: string;
  sealedVersion: number;
  /** Unset until a configuration is put. */
  push: Map<string, PushConfig> | undefined;
  /** Where the task stands in its owner's order; any other mention of it there is stale. */
  position: number;
}

/** An ended task never changes again: its text is all that is kept. */
export function seal(task: TaskEntry): void {
  task.log.seal();
  const { version, body } = snapshotOf(task);
  task.sealedTask = body.text;
  task.sealedVersion = version;
  task.snapshot = undefined;
}

function snapshotOf({ snapshot, sealedTask, sealedVersion }: TaskEntry): Snapshot {
  return snapshot ?? { version: sealedVersion, body: Json.fromText(sealedTask) };
}

export function toRecord(task: TaskEntry): TaskRecord {
  const snapshot = snapshotOf(task);
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
    tail: snapshot.version === task.version ? [] : task.log.after(snapshot.version, Infinity),
  };
}
