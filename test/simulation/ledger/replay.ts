import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskStatus,
} from '../../../src/protocol/index.ts';

interface ReplayedArtifact {
  readonly head: Artifact;
  readonly parts: Part[];
  metadata: JsonObject | undefined;
}

/** A task as its log tells it, put together without the engine's help. */
export class Replay {
  status: TaskStatus = { state: 'TASK_STATE_UNSPECIFIED' };
  readonly #id: string;
  #contextId = '';
  metadata: JsonObject | undefined;
  readonly #history: Message[] = [];
  readonly #artifacts: ReplayedArtifact[] = [];

  constructor(id: string) {
    this.#id = id;
  }

  add(event: StreamResponse): void {
    if ('task' in event) {
      this.#contextId = event.task.contextId;
      this.status = event.task.status;
      this.#history.push(...(event.task.history ?? []));
    } else if ('message' in event) {
      this.#speak();
      this.#history.push(event.message);
    } else if ('statusUpdate' in event) {
      this.#speak();
      const { status, metadata } = event.statusUpdate;
      this.status = status;
      if (metadata !== undefined) this.metadata = { ...this.metadata, ...metadata };
    } else {
      this.#addArtifact(event.artifactUpdate.artifact, event.artifactUpdate.append === true);
    }
  }

  hasMessage(messageId: string): boolean {
    return this.#history.some((message) => message.messageId === messageId);
  }

  task(): Task {
    const artifacts = this.#artifacts.map(({ head, parts, metadata }) => ({
      ...head,
      parts: [...parts],
      ...(metadata !== undefined && { metadata }),
    }));
    return {
      id: this.#id,
      contextId: this.#contextId,
      status: this.status,
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#history.length > 0 && { history: [...this.#history] }),
      ...(this.metadata !== undefined && { metadata: this.metadata }),
    };
  }

  /** What the status said becomes history once something follows it. */
  #speak(): void {
    const { message, ...rest } = this.status;
    if (message === undefined) return;
    this.#history.push(message);
    this.status = rest;
  }

  #addArtifact(artifact: Artifact, isMore: boolean): void {
    const index = this.#artifacts.findIndex(({ head }) => head.artifactId === artifact.artifactId);
    const known = this.#artifacts[index];
    if (known !== undefined && isMore) {
      // The simulated agents append plain text alone: it continues the text before it.
      const [first, ...more] = artifact.parts;
      const last = known.parts.pop();
      known.parts.push({ text: `${last?.text}${first?.text}` }, ...more);
      if (artifact.metadata !== undefined) {
        known.metadata = { ...known.metadata, ...artifact.metadata };
      }
      return;
    }
    const fresh = { head: artifact, parts: [...artifact.parts], metadata: artifact.metadata };
    if (known === undefined) this.#artifacts.push(fresh);
    else this.#artifacts[index] = fresh;
  }
}
