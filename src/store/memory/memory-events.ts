import { Json, type Task } from '../../protocol/index.ts';
import type { LogEvent, Snapshot } from '../contract.ts';
import type { MemoryTask } from './memory-task.ts';

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
