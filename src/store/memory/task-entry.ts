import { Json, type TaskState } from '../../protocol/index.ts';
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
  /** Unset once sealed. */
  snapshot: Snapshot | undefined;
  /** The whole log: event n stands at index n - 1. Empty once sealed. */
  events: LogEvent[];
  /** The log of a task that has ended, as lines of text: a fraction of what the objects take. */
  sealed: Buffer | undefined;
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
  // Outside of the heap, so that the collector has nothing to carry about.
  task.sealed = Buffer.from(task.events.map(({ body }) => body.text).join('\n'));
  task.events = [];
  const { version, body } = snapshotOf(task);
  task.sealedTask = body.text;
  task.sealedVersion = version;
  task.snapshot = undefined;
}

function snapshotOf({ snapshot, sealedTask, sealedVersion }: TaskEntry): Snapshot {
  return snapshot ?? { version: sealedVersion, body: Json.fromText(sealedTask) };
}

/** Events after number `after`, at most `limit` of them. */
export function eventsAfter(task: TaskEntry, after: number, limit: number): readonly LogEvent[] {
  if (task.sealed === undefined) return task.events.slice(after, after + limit);
  return task.sealed
    .toString()
    .split('\n')
    .slice(after, after + limit)
    .map((text, index) => ({ sequence: after + index + 1, body: Json.fromText(text) }));
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
    tail: snapshot.version === task.version ? [] : eventsAfter(task, snapshot.version, Infinity),
  };
}
