import {
  type Artifact,
  ContentMark,
  type JsonObject,
  type Part,
  type StreamResponse,
  type Task,
  type TaskState,
  type TaskStatus,
} from '../../protocol/index.ts';
import type { ArtifactChunk, EndKind, Reply, TurnEnd, Working } from '../agent.ts';

const ends: Partial<Record<TaskState, EndKind>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
};

type PassedOn = ArtifactChunk | Working;

interface Begun {
  readonly mark: ContentMark;
  readonly isSealed: boolean;
  /** Artifacts that took what came after the last chunk. */
  readonly copies: number;
}

/**
 * What a peer's stream says, in the words of our own turns. Artifacts keep their ids; what a peer
 * adds to an artifact that it had closed goes into another one.
 */
export class PeerEvents {
  readonly #name: string;
  /** Marks of what the artifacts held when the question was asked. */
  readonly #known: Readonly<Record<string, string>>;
  readonly #begun = new Map<string, Begun>();
  #isFirst = true;
  #status: TaskStatus | undefined;
  #metadata: JsonObject | undefined;
  #reply: Reply | undefined;
  taskId: string | undefined;
  contextId: string | undefined;

  constructor(name: string, known: Readonly<Record<string, string>> = {}) {
    this.#name = name;
    this.#known = known;
  }

  /** How the turn ended, as far as the peer has told. */
  get end(): TurnEnd | Reply | undefined {
    if (this.#reply !== undefined) return this.#reply;
    if (this.#status === undefined) return undefined;
    const kind = ends[this.#status.state];
    if (kind === undefined) return undefined;
    const parts = this.#status.message?.parts ?? [];
    const said = parts.length > 0 ? parts : this.#wordsFor(kind);
    const metadata = { ...this.#metadata, ...this.#status.message?.metadata };
    return {
      kind,
      ...(said !== undefined && { parts: said }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
  }

  /** Whether the peer waits for consent: its stream stays open, but nothing comes of that. */
  get needsConsent(): boolean {
    return this.#status?.state === 'TASK_STATE_AUTH_REQUIRED';
  }

  /** Marks of what each artifact holds, and whether it is sealed, for the turn that continues the task. */
  get marks(): Readonly<Record<string, string>> {
    const own = [...this.#begun].map(
      ([id, { mark, isSealed }]) => [id, `${isSealed ? sealed : ''}${mark.toString()}`] as const,
    );
    return { ...this.#known, ...Object.fromEntries(own) };
  }

  *accept(response: StreamResponse): Generator<PassedOn> {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if ('message' in response) {
      const { parts, metadata, contextId } = response.message;
      if (this.taskId === undefined) {
        this.contextId ??= contextId;
        this.#reply = { kind: 'message', parts, ...(metadata !== undefined && { metadata }) };
      } else if (response.message.role === 'ROLE_AGENT' && parts.length > 0) {
        yield { kind: 'working', parts };
      }
    } else if ('task' in response) {
      yield* this.#acceptTask(response.task, isFirst);
    } else if ('statusUpdate' in response) {
      const { taskId, contextId, status, metadata } = response.statusUpdate;
      this.#note(taskId, contextId);
      if (metadata !== undefined) this.#metadata = { ...this.#metadata, ...metadata };
      yield* this.#acceptStatus(status, metadata);
    } else {
      const { taskId, contextId, artifact, append, lastChunk } = response.artifactUpdate;
      this.#note(taskId, contextId);
      yield* this.#chunk(artifact, append === true, lastChunk === true);
    }
  }

  *#acceptTask(task: Task, isFirst: boolean): Generator<PassedOn> {
    this.#note(task.id, task.contextId);
    if (task.metadata !== undefined) this.#metadata = { ...this.#metadata, ...task.metadata };
    // The client tells all of a later snapshot beforehand.
    for (const artifact of isFirst ? (task.artifacts ?? []) : []) {
      yield* this.#snapshot(artifact);
    }
    yield* this.#acceptStatus(task.status, undefined);
  }

  *#acceptStatus(status: TaskStatus, metadata: JsonObject | undefined): Generator<PassedOn> {
    const isNews = status.message?.messageId !== this.#status?.message?.messageId;
    this.#status = status;
    const parts = status.message?.parts ?? [];
    if (ends[status.state] !== undefined || parts.length === 0 || !isNews) return;
    yield { kind: 'working', parts, ...(metadata !== undefined && { metadata }) };
  }

  /** What a snapshot says of an artifact beyond what an earlier turn has told. */
  *#snapshot(artifact: Artifact): Generator<PassedOn> {
    const known = this.#known[artifact.artifactId];
    const rest = known === undefined ? undefined : markIn(known)?.rest(artifact.parts);
    if (rest === undefined || known?.startsWith(sealed) === true) {
      if (rest?.length !== 0) yield* this.#chunk(artifact, false, false);
    } else yield* this.#chunk({ ...artifact, parts: rest }, true, false);
  }

  *#chunk(artifact: Artifact, append: boolean, lastChunk: boolean): Generator<PassedOn> {
    if (artifact.parts.length === 0) return;
    const { artifactId } = artifact;
    const before = this.#begun.get(artifactId);
    const isBegun = before !== undefined || Object.hasOwn(this.#known, artifactId);
    // In an earlier turn; what takes its place now may do so under the same id.
    const wasSealed = append && this.#known[artifactId]?.startsWith(sealed) === true;
    const isSealed = before?.isSealed ?? wasSealed;
    const copies = (before?.copies ?? 0) + (isSealed ? 1 : 0);
    const isAppended = append && isBegun && !isSealed;
    const mark = (isAppended ? this.#markOf(artifactId) : undefined) ?? ContentMark.of([]);
    mark.add(artifact.parts);
    this.#begun.set(artifactId, { mark, isSealed: lastChunk, copies });
    const id = copies === 0 ? artifactId : `${artifactId}~${copies + 1}`;
    yield {
      kind: 'chunk',
      artifact: { ...artifact, artifactId: id },
      append: isAppended,
      lastChunk,
    };
  }

  #markOf(artifactId: string): ContentMark | undefined {
    return this.#begun.get(artifactId)?.mark ?? markIn(this.#known[artifactId] ?? '');
  }

  #note(taskId: string, contextId: string): void {
    this.taskId ??= taskId;
    this.contextId ??= contextId;
  }

  #wordsFor(kind: EndKind): readonly Part[] | undefined {
    switch (kind) {
      case 'failed':
        return [{ text: `The agent ${this.#name} failed.` }];
      case 'rejected':
        return [{ text: `The agent ${this.#name} rejected the request.` }];
      case 'input-required':
      case 'auth-required':
        return [{ text: `The agent ${this.#name} waits for an answer.` }];
      default:
        return undefined;
    }
  }
}

/** Stands before the marks of artifacts whose last chunk has come; no mark starts with it. */
const sealed = '!';

function markIn(known: string): ContentMark | undefined {
  return ContentMark.parse(known.replace(sealed, ''));
}
