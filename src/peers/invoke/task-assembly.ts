import {
  type Artifact,
  isInterrupted,
  isTerminal,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '../../protocol/index.ts';

/**
 * The answer of a peer, put together from what it streamed.
 * @example
 * const assembly = new TaskAssembly();
 * for await (const { response } of client.sendStreamingMessage('Hello')) assembly.add(response);
 * console.log(assembly.isOver, assembly.response);
 */
export class TaskAssembly {
  readonly #artifacts = new Map<string, Artifact>();
  #ids: { readonly id: string; readonly contextId: string } | undefined;
  #status: TaskStatus | undefined;
  #message: SendMessageResponse | undefined;

  add(event: StreamResponse): void {
    if ('message' in event) {
      if (this.#ids === undefined) this.#message = event;
    } else if ('task' in event) {
      const { id, contextId, status, artifacts = [] } = event.task;
      this.#ids = { id, contextId };
      this.#status = status;
      for (const artifact of artifacts) this.#artifacts.set(artifact.artifactId, artifact);
    } else if ('statusUpdate' in event) {
      const { taskId: id, contextId, status } = event.statusUpdate;
      this.#ids = { id, contextId };
      this.#status = status;
    } else {
      const { taskId: id, contextId, artifact, append = false } = event.artifactUpdate;
      this.#ids ??= { id, contextId };
      const before = append ? this.#artifacts.get(artifact.artifactId) : undefined;
      const parts = [...(before?.parts ?? []), ...artifact.parts];
      this.#artifacts.set(artifact.artifactId, { ...before, ...artifact, parts });
    }
  }

  get ids(): { readonly id: string; readonly contextId: string } | undefined {
    return this.#ids;
  }

  /** The plain message or the task as it is now; undefined while there is neither. */
  get response(): SendMessageResponse | undefined {
    if (this.#message !== undefined || this.#ids === undefined || this.#status === undefined) {
      return this.#message;
    }
    const artifacts = [...this.#artifacts.values()];
    const task: Task = {
      ...this.#ids,
      status: this.#status,
      ...(artifacts.length > 0 && { artifacts }),
    };
    return { task };
  }

  /** Whether the turn is over. */
  get isOver(): boolean {
    const state = this.#status?.state;
    if (this.#message !== undefined) return true;
    return state !== undefined && (isTerminal(state) || isInterrupted(state));
  }
}
