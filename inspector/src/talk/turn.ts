import {
  type Artifact,
  isInterrupted,
  type Message,
  type Part,
  type StreamResponse,
  TaskFold,
  type TaskState,
} from '../../../src/protocol/index.ts';

/** A message or an artifact of the agent in one turn. */
export interface Output {
  readonly kind: 'message' | 'artifact';
  readonly key: string;
  readonly name?: string | undefined;
  /** Grows in place while chunks arrive. */
  parts: readonly Part[];
  isComplete: boolean;
}

/**
 * One message to an agent and its answer, as streamed. Events are applied in place, at constant cost
 * per event.
 */
export class TalkTurn {
  readonly number: number;
  readonly message: Message;
  /** Shown instead of the message: the title of a button. */
  readonly shown: string | undefined;
  /** In order of arrival. */
  readonly outputs: Output[] = [];
  taskId: string | undefined;
  contextId: string | undefined;
  state: TaskState | undefined;
  events = 0;
  isOpen = true;
  problem = '';
  readonly startedAt = Date.now();
  endedAt: number | undefined;
  readonly #byKey = new Map<string, Output>();
  /** Used only for the artifacts. */
  readonly #fold = new TaskFold({ id: '', contextId: '', status: { state: 'TASK_STATE_WORKING' } });

  constructor(number: number, message: Message, shown?: string) {
    this.number = number;
    this.message = message;
    this.shown = shown;
    this.taskId = message.taskId;
  }

  take(response: StreamResponse): void {
    this.events += 1;
    if ('message' in response) this.#addMessage(response.message);
    else if ('statusUpdate' in response) {
      const { taskId, contextId, status } = response.statusUpdate;
      this.#setTask(taskId, contextId, status.state);
      this.#addMessage(status.message);
    } else if ('artifactUpdate' in response) {
      const { artifact, append, lastChunk } = response.artifactUpdate;
      this.#addArtifact(artifact, append === true, lastChunk === true);
    } else {
      const { id, contextId, status, artifacts = [], history = [] } = response.task;
      this.#setTask(id, contextId, status.state);
      // Only messages after the turn's own message answer it.
      const own = history.findLastIndex(({ messageId }) => messageId === this.message.messageId);
      if (own < 0 && this.message.taskId !== undefined) return;
      for (const message of history.slice(own + 1)) this.#addMessage(message);
      for (const artifact of artifacts) this.#addArtifact(artifact, false, true);
      this.#addMessage(status.message);
    }
  }

  /** Marks a past turn, whose duration is unknown. */
  settle(task: {
    readonly taskId?: string | undefined;
    readonly state?: TaskState | undefined;
  }): void {
    this.taskId = task.taskId ?? this.taskId;
    this.state = task.state ?? this.state;
    this.events = 0;
    this.isOpen = false;
  }

  close(problem = ''): void {
    this.isOpen = false;
    this.problem = problem;
    this.endedAt = Date.now();
  }

  /** Whether the agent waits for input. */
  get isWaiting(): boolean {
    return this.state !== undefined && isInterrupted(this.state);
  }

  #setTask(taskId: string, contextId: string, state: TaskState): void {
    this.taskId = taskId;
    this.contextId = contextId;
    this.state = state;
  }

  #addMessage(message: Message | undefined): void {
    if (message === undefined || message.role === 'ROLE_USER') return;
    const { messageId, contextId = this.contextId, parts } = message;
    this.contextId = contextId;
    this.#outputOf('message', messageId, parts);
  }

  #addArtifact(artifact: Artifact, isMore: boolean, isLast: boolean): void {
    const { artifactId, name, parts } = artifact;
    this.#fold.apply({
      artifactUpdate: { taskId: '', contextId: '', artifact, append: isMore },
    });
    const output = this.#outputOf('artifact', artifactId, parts, name);
    output.parts = this.#fold.partsOf(artifactId) ?? parts;
    output.isComplete = isLast;
  }

  /** The output with this key, added if it is new. */
  #outputOf(kind: Output['kind'], id: string, parts: readonly Part[], name?: string): Output {
    const key = `${kind} ${id}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const output: Output = { kind, key, name, parts, isComplete: true };
    this.#byKey.set(key, output);
    this.outputs.push(output);
    return output;
  }
}
