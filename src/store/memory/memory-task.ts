import { Json, type Task, type TaskState } from '../../protocol/index.ts';
import type { LogEvent, Snapshot } from '../contract.ts';
import type { TaskRow } from '../tables.ts';

/** A task, its log, and the lists that contain it. */
export interface MemoryTask extends TaskRow {
  /** Events as text, so that the garbage collector copies fewer objects. Event n is at index n - 1. */
  readonly log: string[];
  snapshot: string;
  snapshotVersion: number;
  readonly owned: OwnedTasks;
  /** The tasks of its context, including this task. */
  readonly siblings: MemoryTask[];
}

/** The tasks of one owner, each list in the order of `list`, but oldest first. */
export interface OwnedTasks {
  readonly all: MemoryTask[];
  readonly byState: Map<TaskState, MemoryTask[]>;
  readonly byContext: Map<string, MemoryTask[]>;
}

/** The logs of tasks and their snapshots. */
export class MemoryEvents {
  create(task: MemoryTask, body: Json<Task>): void {
    task.log.push(`{"task":${body.text}}`);
    this.setSnapshot(task, { version: 1, body });
  }

  append({ log }: MemoryTask, events: readonly LogEvent[]): void {
    for (const { body } of events) log.push(body.text);
  }

  setSnapshot(task: MemoryTask, { version, body }: Snapshot): void {
    task.snapshotVersion = version;
    task.snapshot = body.text;
  }

  snapshotOf({ snapshotVersion, snapshot }: MemoryTask): Snapshot {
    return { version: snapshotVersion, body: Json.fromText(snapshot) };
  }

  read({ log }: MemoryTask, after: number, limit: number): LogEvent[] {
    const from = Math.max(0, after);
    const texts = log.slice(from, from + limit);
    return texts.map((text, index) => ({ sequence: from + index + 1, body: Json.fromText(text) }));
  }
}
