import { Json, type Task, TaskFold } from '../protocol/index.ts';
import type { Store, TaskRecord } from '../store/index.ts';

/** A task that changes, built from its snapshot and log. */
export class LiveTask extends TaskFold {
  static from(record: TaskRecord): LiveTask {
    const live = new LiveTask(record.snapshot.body.value, record.snapshot.version);
    for (const event of record.tail) live.apply(event.body.value, event.sequence);
    return live;
  }
}

/** The task of a record. A record whose snapshot is up to date is not parsed. */
export function taskOf(record: TaskRecord): Json<Task> {
  return record.tail.length === 0 ? record.snapshot.body : Json.of(LiveTask.from(record).toTask());
}

/** The task right after the event with this number; undefined if the task was deleted. */
export async function readTaskAt(
  store: Pick<Store, 'readEvents'>,
  taskId: string,
  sequence: number,
): Promise<Task | undefined> {
  let live: LiveTask | undefined;
  for (let after = 0; after < sequence;) {
    const events = await store.readEvents(taskId, after, Math.min(500, sequence - after));
    for (const { body, sequence: number } of events) {
      if (live !== undefined) live.apply(body.value, number);
      else if ('task' in body.value) live = new LiveTask(body.value.task, number);
      after = number;
    }
    if (events.length === 0) return undefined;
  }
  return live?.toTask();
}

/** The same task with at most the last `length` messages of its history; all of them if undefined. */
export function withHistory(task: Json<Task>, length: number | undefined): Json<Task> {
  if (length === undefined) return task;
  const { history, ...rest } = task.value;
  if (history === undefined || history.length <= length) {
    return length === 0 && history !== undefined ? Json.of(rest) : task;
  }
  return Json.of(length === 0 ? rest : { ...rest, history: history.slice(-length) });
}

const pageSize = 500;

/**
 * The artifacts of a task that were complete when its log had `until` events. A snapshot does not contain
 * this, so it is read from the log. Few turns need it: those that append to an artifact of an earlier one.
 */
export async function closedArtifacts(
  store: Pick<Store, 'readEvents'>,
  taskId: string,
  until: number,
): Promise<ReadonlySet<string>> {
  const completed = new Set<string>();
  for (let after = 0; after < until;) {
    const events = await store.readEvents(taskId, after, Math.min(pageSize, until - after));
    if (events.length === 0) break;
    for (const { body, sequence } of events) {
      after = sequence;
      if (!('artifactUpdate' in body.value)) continue;
      const { artifact, lastChunk } = body.value.artifactUpdate;
      if (lastChunk === true) completed.add(artifact.artifactId);
      else completed.delete(artifact.artifactId);
    }
  }
  return completed;
}
