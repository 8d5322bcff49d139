import {
  type Artifact,
  Json,
  type JsonObject,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../protocol/index.ts';
import type { Store, TaskRecord } from '../store/index.ts';

interface LiveArtifact {
  readonly head: Artifact;
  /** Owned by this task: grows in place, so that a chunk costs the same however long the artifact is. */
  readonly parts: Part[];
  metadata: JsonObject | undefined;
}

/**
 * A task while it changes: events are applied in place at constant cost. `toTask` gives the task as
 * it is now; do not apply further events after handing that out unless a copy was asked for.
 */
export class LiveTask {
  readonly id: string;
  readonly contextId: string;
  status: TaskStatus;
  metadata: JsonObject | undefined;
  readonly #history: Message[];
  readonly #artifacts = new Map<string, LiveArtifact>();
  /** The number of the last event applied. */
  version: number;

  constructor(task: Task, version: number) {
    this.id = task.id;
    this.contextId = task.contextId;
    this.status = task.status;
    this.metadata = task.metadata;
    this.version = version;
    this.#history = task.history === undefined ? [] : [...task.history];
    for (const artifact of task.artifacts ?? []) this.#setArtifact(artifact);
  }

  static from(record: TaskRecord): LiveTask {
    const live = new LiveTask(record.snapshot.body.value, record.snapshot.version);
    for (const event of record.tail) live.apply(event.body.value, event.sequence);
    return live;
  }

  hasArtifact(artifactId: string): boolean {
    return this.#artifacts.has(artifactId);
  }

  get history(): readonly Message[] {
    return this.#history;
  }

  apply(body: StreamResponse, sequence: number): void {
    this.version = sequence;
    if ('statusUpdate' in body) {
      const { status, metadata } = body.statusUpdate;
      // A status message becomes history when the next status replaces it, so it never shows twice.
      if (this.status.message !== undefined) this.#history.push(this.status.message);
      this.status = status;
      if (metadata !== undefined) this.metadata = { ...this.metadata, ...metadata };
    } else if ('artifactUpdate' in body) {
      const { artifact, append } = body.artifactUpdate;
      const existing = append === true ? this.#artifacts.get(artifact.artifactId) : undefined;
      if (existing === undefined) {
        this.#setArtifact(artifact);
      } else {
        for (const part of artifact.parts) existing.parts.push(part);
        if (artifact.metadata !== undefined) {
          existing.metadata = { ...existing.metadata, ...artifact.metadata };
        }
      }
    } else if ('message' in body) {
      // The caller's follow-up: the question it answers goes before it.
      if (this.status.message !== undefined) {
        const { message, ...status } = this.status;
        this.#history.push(message);
        this.status = status;
      }
      this.#history.push(body.message);
    }
  }

  toTask(): Task {
    const artifacts = [...this.#artifacts.values()].map(({ head, parts, metadata }) =>
      metadata === undefined ? { ...head, parts } : { ...head, parts, metadata },
    );
    return {
      id: this.id,
      contextId: this.contextId,
      status: this.status,
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#history.length > 0 && { history: this.#history }),
      ...(this.metadata !== undefined && { metadata: this.metadata }),
    };
  }

  #setArtifact(artifact: Artifact): void {
    this.#artifacts.set(artifact.artifactId, {
      head: artifact,
      parts: [...artifact.parts],
      metadata: artifact.metadata,
    });
  }
}

/** The task a record stands for; a record whose snapshot is up to date is not even parsed. */
export function taskOf(record: TaskRecord): Json<Task> {
  return record.tail.length === 0 ? record.snapshot.body : Json.of(LiveTask.from(record).toTask());
}

/** The task as it was right after the event of that number; undefined when it is gone. */
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

/** The same task with at most the last `length` messages of its history; unset leaves all. */
export function withHistory(task: Json<Task>, length: number | undefined): Json<Task> {
  if (length === undefined) return task;
  const { history, ...rest } = task.value;
  if (history === undefined || history.length <= length) {
    return length === 0 && history !== undefined ? Json.of(rest) : task;
  }
  return Json.of(length === 0 ? rest : { ...rest, history: history.slice(-length) });
}
