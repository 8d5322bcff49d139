import {
  type Artifact,
  ContentMark,
  isTerminal,
  type Message,
  type StreamResponse,
  type Task,
  TaskFold,
  type TaskStatus,
} from '../protocol/index.ts';

/**
 * A task as received so far, updated by events and snapshots.
 * @example const view = new TaskView(task); view.apply(response); console.log(view.status.state);
 */
export class TaskView {
  readonly id: string;
  readonly contextId: string;
  #fold: TaskFold;
  /** The ids of all known messages, including the caller's own. */
  readonly #messageIds = new Set<string>();

  constructor(task: Task, sentMessageId?: string) {
    this.id = task.id;
    this.contextId = task.contextId;
    this.#fold = new TaskFold(task);
    if (sentMessageId !== undefined) this.#messageIds.add(sentMessageId);
    this.#noteMessages(task);
  }

  get status(): TaskStatus {
    return this.#fold.status;
  }

  apply(response: StreamResponse): void {
    this.#fold.apply(response);
    if ('statusUpdate' in response) this.#noteMessage(response.statusUpdate.status.message);
    else if ('message' in response) this.#noteMessage(response.message);
    else if ('task' in response) this.#noteMessages(response.task);
  }

  /**
   * The events that lead from this view to the snapshot, oldest first, without duplicates. A missed
   * message of the agent becomes a `working` status, because a snapshot doesn't record the state of its
   * messages. The status comes last. If the task has ended, the caller delivers the snapshot instead.
   */
  catchUp(task: Task): readonly StreamResponse[] {
    const missing = [...this.#missing(task)];
    if (isTerminal(task.status.state)) {
      this.apply({ task });
      return missing;
    }
    // Artifacts only grow: a lagging snapshot removes nothing.
    for (const response of missing) this.apply(response);
    const { artifacts: _, ...rest } = task;
    const { artifacts } = this.#fold.toTask();
    this.apply({ task: { ...rest, ...(artifacts !== undefined && { artifacts }) } });
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
    if (!isTerminal(task.status.state) && !isSameStatus(task.status, this.status)) {
      yield { statusUpdate: { taskId, contextId, status: task.status } };
    }
  }

  toTask(): Task {
    return this.#fold.toTask();
  }

  #noteMessages({ history = [], status }: Task): void {
    for (const message of history) this.#noteMessage(message);
    this.#noteMessage(status.message);
  }

  #noteMessage(message: Message | undefined): void {
    if (message !== undefined) this.#messageIds.add(message.messageId);
  }

  /**
   * Only messages after the last known one can be new: earlier ones belong to turns before this stream.
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

  /** Peers can join or split chunks of text, so only the content is compared. */
  #missingOf(artifact: Artifact): { artifact: Artifact; append: boolean } | undefined {
    const delivered = this.#fold.partsOf(artifact.artifactId);
    if (delivered === undefined) return { artifact, append: false };
    const rest = ContentMark.of(delivered).rest(artifact.parts);
    if (rest !== undefined) {
      return rest.length === 0
        ? undefined
        : { artifact: { ...artifact, parts: rest }, append: true };
    }
    const isLagging = ContentMark.of(artifact.parts).rest(delivered) !== undefined;
    return isLagging ? undefined : { artifact, append: false };
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
