import {
  type Artifact,
  isTurnEnd,
  type JsonObject,
  type JsonValue,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../model.ts';
import { appendParts } from './parts.ts';

interface FoldedArtifact {
  head: Artifact;
  /** Owned by the fold: grows in place. */
  readonly parts: Part[];
  readonly metadata: MergedMetadata;
}

/**
 * The state of a task after the events of its log or stream. The cost of applying an event does not
 * depend on the number of earlier events.
 *
 * - A status message moves to the history when the next status or message arrives.
 * - Metadata is merged; a later name or description of an artifact wins.
 * - An append to an unknown artifact creates it. Appended text continues the text before it.
 *
 * @example
 * const fold = new TaskFold(task);
 * for await (const { response } of client.subscribeToTask(task.id)) fold.apply(response);
 */
export class TaskFold {
  readonly id: string;
  readonly contextId: string;
  /** The number of the last event applied. */
  version: number;
  #status: TaskStatus;
  #metadata: MergedMetadata;
  #history: Message[] = [];
  readonly #artifacts = new Map<string, FoldedArtifact>();

  constructor(task: Task, version = 0) {
    this.id = task.id;
    this.contextId = task.contextId;
    this.version = version;
    this.#status = task.status;
    this.#metadata = new MergedMetadata(task.metadata);
    this.#replace(task);
  }

  get status(): TaskStatus {
    return this.#status;
  }

  get history(): readonly Message[] {
    return this.#history;
  }

  hasArtifact(artifactId: string): boolean {
    return this.#artifacts.has(artifactId);
  }

  /** The current parts of an artifact; undefined if its id is unknown. */
  partsOf(artifactId: string): readonly Part[] | undefined {
    return this.#artifacts.get(artifactId)?.parts;
  }

  apply(event: StreamResponse, sequence = this.version + 1): void {
    this.version = sequence;
    if ('statusUpdate' in event) {
      const { status, metadata } = event.statusUpdate;
      this.#moveStatusMessage();
      this.#status = status;
      this.#metadata.add(metadata);
    } else if ('artifactUpdate' in event) {
      const { artifact, append } = event.artifactUpdate;
      const existing = append === true ? this.#artifacts.get(artifact.artifactId) : undefined;
      if (existing === undefined) this.#setArtifact(artifact);
      else extend(existing, artifact);
    } else if ('message' in event) {
      this.#moveStatusMessage();
      this.#history.push(event.message);
    } else {
      this.#replace(event.task);
    }
  }

  /** The current task; later events don't change the returned object. */
  toTask(): Task {
    const artifacts = [...this.#artifacts.values()].map(({ head, parts, metadata }) => ({
      ...head,
      parts: [...parts],
      ...(metadata.value !== undefined && { metadata: metadata.value }),
    }));
    return {
      id: this.id,
      contextId: this.contextId,
      status: this.#status,
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#history.length > 0 && { history: [...this.#history] }),
      ...(this.#metadata.value !== undefined && { metadata: this.#metadata.value }),
    };
  }

  #moveStatusMessage(): void {
    const { message, ...status } = this.#status;
    if (message === undefined) return;
    this.#history.push(message);
    this.#status = status;
  }

  #replace({ status, metadata, history = [], artifacts = [] }: Task): void {
    this.#status = status;
    this.#metadata = new MergedMetadata(metadata);
    this.#history = [...history];
    this.#artifacts.clear();
    for (const artifact of artifacts) this.#setArtifact(artifact);
  }

  #setArtifact(artifact: Artifact): void {
    this.#artifacts.set(artifact.artifactId, {
      head: artifact,
      parts: [...artifact.parts],
      metadata: new MergedMetadata(artifact.metadata),
    });
  }
}

function extend(existing: FoldedArtifact, { parts, metadata, ...head }: Artifact): void {
  appendParts(existing.parts, parts);
  existing.metadata.add(metadata);
  const { name, description } = head;
  if (name !== undefined && name !== existing.head.name) existing.head = { ...existing.head, name };
  if (description !== undefined && description !== existing.head.description) {
    existing.head = { ...existing.head, description };
  }
}

/**
 * The task that an update belongs to, for peers that don't start their stream with one.
 * @example const fold = new TaskFold(taskBefore(update));
 */
export function taskBefore(
  update: Exclude<StreamResponse, { task: Task } | { message: Message }>,
): Task {
  const { taskId, contextId } =
    'statusUpdate' in update ? update.statusUpdate : update.artifactUpdate;
  return { id: taskId, contextId, status: { state: 'TASK_STATE_UNSPECIFIED' } };
}

/** The ids of the task that an event belongs to; undefined for a plain message. */
export function taskIdsOf(
  event: StreamResponse,
): { readonly taskId: string; readonly contextId: string } | undefined {
  if ('message' in event) return undefined;
  const { id: taskId, contextId } = 'task' in event ? event.task : taskBefore(event);
  return { taskId, contextId };
}

/** The status that an event states; undefined for artifacts and plain messages. */
export function taskStatusOf(event: StreamResponse): TaskStatus | undefined {
  if ('task' in event) return event.task.status;
  return 'statusUpdate' in event ? event.statusUpdate.status : undefined;
}

/** Whether an event ends a turn. False for a plain message, which has no task. */
export function endsTurn(event: StreamResponse): boolean {
  const status = taskStatusOf(event);
  return status !== undefined && isTurnEnd(status.state);
}

/** Metadata that events add to. The cost of an addition depends only on the added members. */
class MergedMetadata {
  /** The value; undefined after an addition, until it is read. */
  #value: JsonObject | undefined;
  /** All members; undefined until the first addition to the value. */
  #members: Map<string, JsonValue> | undefined;

  constructor(value: JsonObject | undefined) {
    this.#value = value;
  }

  /** The current value; later additions don't change the returned object. */
  get value(): JsonObject | undefined {
    if (this.#members !== undefined) this.#value ??= Object.fromEntries(this.#members);
    return this.#value;
  }

  /** Adds members; the new value of a known member replaces the old one. */
  add(more: JsonObject | undefined): void {
    if (more === undefined) return;
    if (this.#members === undefined && this.#value === undefined) {
      this.#value = more;
      return;
    }
    this.#members ??= new Map(Object.entries(this.#value ?? {}));
    for (const [name, value] of Object.entries(more)) this.#members.set(name, value);
    this.#value = undefined;
  }
}
