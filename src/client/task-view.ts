import {
  type Artifact,
  isTerminal,
  type JsonObject,
  type JsonValue,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../protocol/index.ts';

interface ViewedArtifact {
  readonly head: Artifact;
  /** Grows in place, so that a chunk costs the same however long the artifact is. */
  readonly parts: Part[];
  metadata: JsonObject | undefined;
}

/**
 * A task as its stream has told it so far, and what a snapshot tells beyond that.
 * @example const view = new TaskView(task); view.apply(response); console.log(view.status.state);
 */
export class TaskView {
  readonly id: string;
  readonly contextId: string;
  #status: TaskStatus;
  #metadata: JsonObject | undefined;
  #history: Message[] = [];
  /** Ids of all messages known, the caller's own included. */
  readonly #messageIds = new Set<string>();
  readonly #artifacts = new Map<string, ViewedArtifact>();

  constructor(task: Task, sentMessageId?: string) {
    this.id = task.id;
    this.contextId = task.contextId;
    this.#status = task.status;
    if (sentMessageId !== undefined) this.#messageIds.add(sentMessageId);
    this.#replace(task);
  }

  get status(): TaskStatus {
    return this.#status;
  }

  apply(response: StreamResponse): void {
    if ('statusUpdate' in response) {
      const { status, metadata } = response.statusUpdate;
      // A status message becomes history when the next status replaces it.
      if (this.#status.message !== undefined) this.#history.push(this.#status.message);
      this.#status = status;
      if (status.message !== undefined) this.#messageIds.add(status.message.messageId);
      if (metadata !== undefined) this.#metadata = { ...this.#metadata, ...metadata };
    } else if ('artifactUpdate' in response) {
      const { artifact, append } = response.artifactUpdate;
      const existing = append === true ? this.#artifacts.get(artifact.artifactId) : undefined;
      if (existing === undefined) {
        this.#setArtifact(artifact);
      } else {
        for (const part of artifact.parts) existing.parts.push(part);
        if (artifact.metadata !== undefined) {
          existing.metadata = { ...existing.metadata, ...artifact.metadata };
        }
      }
    } else if ('message' in response) {
      this.#messageIds.add(response.message.messageId);
      this.#history.push(response.message);
    } else {
      this.#replace(response.task);
    }
  }

  /**
   * The events that lead from this view to the snapshot, oldest first; none of them says what was
   * told before. An agent's message that was missed comes as a `working` status, for the snapshot
   * does not keep the state it was sent in. The status itself comes last, unless the task has ended:
   * then the snapshot itself, which has it, is to be delivered.
   */
  catchUp(task: Task): readonly StreamResponse[] {
    const missing = [...this.#missing(task)];
    if (isTerminal(task.status.state)) {
      this.#replace(task);
      return missing;
    }
    // Artifacts only grow by what is delivered: a snapshot that is behind takes nothing back.
    for (const response of missing) this.apply(response);
    this.#absorb(task);
    return missing;
  }

  *#missing(task: Task): Generator<StreamResponse> {
    const { id: taskId, contextId } = this;
    for (const message of this.#missedMessages(task)) {
      yield {
        statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_WORKING', message } },
      };
    }
    for (const artifact of task.artifacts ?? []) {
      const update = this.#missingOf(artifact);
      if (update !== undefined) yield { artifactUpdate: { taskId, contextId, ...update } };
    }
    if (!isTerminal(task.status.state) && !isSameStatus(task.status, this.#status)) {
      yield { statusUpdate: { taskId, contextId, status: task.status } };
    }
  }

  toTask(): Task {
    const artifacts = [...this.#artifacts.values()].map(({ head, parts, metadata }) => ({
      ...head,
      parts: [...parts],
      ...(metadata !== undefined && { metadata }),
    }));
    return {
      id: this.id,
      contextId: this.contextId,
      status: this.#status,
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#history.length > 0 && { history: [...this.#history] }),
      ...(this.#metadata !== undefined && { metadata: this.#metadata }),
    };
  }

  #replace(task: Task): void {
    this.#absorb(task);
    this.#artifacts.clear();
    for (const artifact of task.artifacts ?? []) this.#setArtifact(artifact);
  }

  /** Takes over all of a snapshot but its artifacts. */
  #absorb(task: Task): void {
    this.#status = task.status;
    this.#metadata = task.metadata;
    this.#history = [...(task.history ?? [])];
    for (const message of this.#history) this.#messageIds.add(message.messageId);
    if (task.status.message !== undefined) this.#messageIds.add(task.status.message.messageId);
  }

  /**
   * Only what follows the last known message can be new: what comes before it is of earlier turns,
   * which this stream never told.
   */
  #missedMessages(task: Task): readonly Message[] {
    const history = task.history ?? [];
    const known = history.findLastIndex((each) => this.#messageIds.has(each.messageId));
    if (known === -1) return [];
    const current = task.status.message?.messageId;
    return history
      .slice(known + 1)
      .filter((each) => each.role === 'ROLE_AGENT' && each.messageId !== current);
  }

  #missingOf(artifact: Artifact): { artifact: Artifact; append: boolean } | undefined {
    const known = this.#artifacts.get(artifact.artifactId);
    if (known === undefined) return { artifact, append: false };
    const told = known.parts;
    const shared = countShared(told, artifact.parts);
    // A snapshot that is behind has nothing to add.
    if (shared === artifact.parts.length) return undefined;
    if (shared === told.length) {
      return { artifact: { ...artifact, parts: artifact.parts.slice(shared) }, append: true };
    }
    // Some peers join chunks of text into one part.
    const toldText = joinTexts(told);
    const text = joinTexts(artifact.parts);
    if (toldText === undefined || text?.startsWith(toldText) !== true) {
      return { artifact, append: false };
    }
    const rest = text.slice(toldText.length);
    if (rest === '') return undefined;
    return { artifact: { ...artifact, parts: [{ text: rest }] }, append: true };
  }

  #setArtifact(artifact: Artifact): void {
    this.#artifacts.set(artifact.artifactId, {
      head: artifact,
      parts: [...artifact.parts],
      metadata: artifact.metadata,
    });
  }
}

function isSameStatus(one: TaskStatus, other: TaskStatus): boolean {
  return (
    one.state === other.state &&
    one.message?.messageId === other.message?.messageId &&
    (one.timestamp === undefined ||
      other.timestamp === undefined ||
      one.timestamp === other.timestamp)
  );
}

/** How many parts are the same from the start on. */
function countShared(one: readonly Part[], other: readonly Part[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && isSame(one[count], other[count])) count += 1;
  return count;
}

function joinTexts(parts: readonly Part[]): string | undefined {
  let joined = '';
  for (const part of parts) {
    if (part.text === undefined) return undefined;
    joined += part.text;
  }
  return joined;
}

type Comparable = JsonValue | Part | undefined;

/** Whether two JSON values are equal, whatever the order of their members. */
function isSame(one: Comparable, other: Comparable): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  if (one === null || other === null || Array.isArray(one) !== Array.isArray(other)) return false;
  const left = Object.entries(one as JsonObject);
  const right = other as JsonObject;
  return (
    left.length === Object.keys(right).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && isSame(value, right[key]))
  );
}
