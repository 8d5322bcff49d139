import {
  isInterrupted,
  isTerminal,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  taskBefore,
  TaskFold,
  type TaskState,
} from '../../protocol/index.ts';

/**
 * The answer of a peer, put together from what it streamed.
 * @example
 * const assembly = new TaskAssembly();
 * for await (const { response } of client.sendStreamingMessage('Hello')) assembly.add(response);
 * console.log(assembly.isOver, assembly.response);
 */
export class TaskAssembly {
  #fold: TaskFold | undefined;
  #message: SendMessageResponse | undefined;

  add(event: StreamResponse): void {
    if ('task' in event) this.#snapshot(event.task);
    else if ('message' in event) {
      if (this.#fold === undefined) this.#message = event;
    } else {
      this.#fold ??= new TaskFold(taskBefore(event));
      this.#fold.apply(event);
    }
  }

  get ids(): { readonly id: string; readonly contextId: string } | undefined {
    return this.#fold === undefined
      ? undefined
      : { id: this.#fold.id, contextId: this.#fold.contextId };
  }

  /** The plain message or the task as it is now; undefined while there is neither. */
  get response(): SendMessageResponse | undefined {
    if (this.#message !== undefined) return this.#message;
    if (this.#fold?.status.state === 'TASK_STATE_UNSPECIFIED') return undefined;
    return this.#fold && { task: this.#fold.toTask() };
  }

  get state(): TaskState | undefined {
    return this.#fold?.status.state;
  }

  /** Whether the turn is over. */
  get isOver(): boolean {
    const { state } = this;
    if (this.#message !== undefined) return true;
    return state !== undefined && (isTerminal(state) || isInterrupted(state));
  }

  /** Artifacts that a later snapshot leaves out are kept. */
  #snapshot(task: Task): void {
    const { artifacts = [] } = this.#fold?.toTask() ?? {};
    const named = new Set(task.artifacts?.map(({ artifactId }) => artifactId));
    const kept = artifacts.filter(({ artifactId }) => !named.has(artifactId));
    const whole = { ...task, artifacts: [...kept, ...(task.artifacts ?? [])] };
    if (this.#fold === undefined) this.#fold = new TaskFold(whole);
    else this.#fold.apply({ task: whole });
  }
}
