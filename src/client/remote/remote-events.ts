import {
  type Artifact,
  ContentMark,
  isInterrupted,
  isTerminal,
  type JsonObject,
  type Message,
  type Part,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  taskBefore,
  TaskFold,
  type TaskStatus,
} from '../../protocol/index.ts';
import { type AnswerLimits, AnswerSize } from './answer-size.ts';
import type { ResumePoint } from './resume-point.ts';
import type { RemoteFrame } from './task-transport.ts';

/**
 * An event of a task of another agent.
 * @example
 * for await (const event of task.events()) if (event.kind === 'progress') show(event.parts);
 */
export type RemoteEvent =
  /** The task got its id. Precedes every other event of the task. */
  | { readonly kind: 'known'; readonly taskId: string; readonly contextId: string }
  /** A status message; without parts, the task is working. */
  | { readonly kind: 'progress'; readonly parts: readonly Part[]; readonly metadata?: JsonObject }
  | {
      readonly kind: 'chunk';
      readonly artifact: Artifact;
      readonly append: boolean;
      readonly lastChunk: boolean;
    }
  /** The task waits for input or for authorization. */
  | { readonly kind: 'question'; readonly task: Task }
  /** The task has ended, or the agent answered with a plain message. */
  | { readonly kind: 'end'; readonly response: SendMessageResponse };

export interface RemoteEventsOptions {
  /** Marks of artifacts that earlier turns of the task delivered. */
  readonly delivered?: ResumePoint['delivered'];
  readonly isLossy?: boolean;
  readonly limits?: AnswerLimits | undefined;
}

interface DeliveredArtifact {
  readonly mark: ContentMark;
  readonly isComplete: boolean;
  /** The number of copies that were created for content after the last chunk. */
  readonly copies: number;
  /** Whether an earlier turn delivered it, and it has not changed since. */
  readonly isEarlier: boolean;
}

/** The prefix of marks of complete artifacts; no mark starts with it. */
const completeMark = '!';

/**
 * Converts the frames of one turn at another agent to events, without duplicates across snapshots,
 * replays and gaps. Content that is added to an artifact after its last chunk goes into a copy (`id~2`).
 *
 * `Delivery` deduplicates the connections of one client and can compare contents. This class works across
 * processes and lossy transports, and stores only marks of the delivered content.
 */
export class RemoteEvents {
  /** Whether the message answers a question. The task can still show it when the stream opens. */
  isAnswer = false;
  readonly #options: RemoteEventsOptions;
  readonly #delivered = new Map<string, DeliveredArtifact>();
  #fold: TaskFold | undefined;
  #contextId: string | undefined;
  #frames = 0;
  /** Whether updates were lost: artifacts then wait for the next snapshot. */
  #isLagging = false;
  #isWorking = false;
  #statusMessage: string | undefined;
  readonly #size: AnswerSize;

  constructor(options: RemoteEventsOptions = {}) {
    this.#options = options;
    this.#size = new AnswerSize(options.limits);
    for (const [id, text] of Object.entries(options.delivered ?? {})) {
      const isComplete = text.startsWith(completeMark);
      const mark = ContentMark.parse(isComplete ? text.slice(completeMark.length) : text);
      if (mark !== undefined)
        this.#delivered.set(id, { mark, isComplete, copies: 0, isEarlier: true });
    }
  }

  get taskId(): string | undefined {
    return this.#fold?.id;
  }

  get contextId(): string | undefined {
    return this.#fold?.contextId ?? this.#contextId;
  }

  /** Undefined before the first event of the task. */
  get status(): TaskStatus | undefined {
    return this.#fold?.status;
  }

  /** Marks of the delivered content of each artifact, for the turn that continues the task. */
  get delivered(): ResumePoint['delivered'] {
    return Object.fromEntries(
      [...this.#delivered].map(([id, { mark, isComplete }]) => [
        id,
        `${isComplete ? completeMark : ''}${mark.toString()}`,
      ]),
    );
  }

  *accept(frame: RemoteFrame): Generator<RemoteEvent> {
    const { response } = frame;
    const isFirst = this.#frames === 0;
    this.#frames += 1;
    if (frame.isRestart === true) this.#isLagging = false;
    if (frame.isGap === true) this.#isLagging = true;
    if ('message' in response) yield* this.#message(response, frame.isFinal === true);
    else if ('task' in response) yield* this.#task(response.task, frame, isFirst);
    else if ('statusUpdate' in response) yield* this.#statusUpdate(response, frame, isFirst);
    else yield* this.#artifactUpdate(response);
  }

  *#message(
    response: Extract<StreamResponse, { message: Message }>,
    isFinal: boolean,
  ): Generator<RemoteEvent> {
    const { parts, role, contextId } = response.message;
    const isResult = this.#options.isLossy === true && isFinal;
    if (this.#fold === undefined || isResult) {
      this.#contextId = contextId;
      yield { kind: 'end', response };
    } else if (role === 'ROLE_AGENT' && parts.length > 0) {
      yield { kind: 'progress', parts };
    }
  }

  *#task(task: Task, frame: RemoteFrame, isFirst: boolean): Generator<RemoteEvent> {
    const { isLossy = false } = this.#options;
    if (this.#fold === undefined) yield* this.#open(task);
    else this.#fold.apply({ task: completed(task, this.#fold.toTask()) });
    const { artifacts = [], history = [], status } = task;
    for (const artifact of artifacts) this.#count(artifact, false);
    this.#size.messages(status.message === undefined ? history : [...history, status.message]);
    this.#size.metadata(task.metadata);
    // Over a lossless transport, later snapshots have no new artifacts.
    if (isFirst || isLossy) {
      for (const artifact of artifacts) {
        yield* this.#snapshot(artifact, frame.isFinal === true && isLossy);
      }
    }
    yield* this.#status(frame, isFirst, undefined);
  }

  *#statusUpdate(
    response: Extract<StreamResponse, { statusUpdate: unknown }>,
    frame: RemoteFrame,
    isFirst: boolean,
  ): Generator<RemoteEvent> {
    const { status, metadata } = response.statusUpdate;
    if (this.#fold === undefined) yield* this.#open(taskBefore(response));
    this.#fold?.apply(response);
    this.#size.message(status.message);
    this.#size.metadata(metadata);
    yield* this.#status(frame, isFirst, metadata);
  }

  *#artifactUpdate(
    response: Extract<StreamResponse, { artifactUpdate: unknown }>,
  ): Generator<RemoteEvent> {
    const { artifact, append, lastChunk } = response.artifactUpdate;
    if (this.#fold === undefined) yield* this.#open(taskBefore(response));
    this.#fold?.apply(response);
    this.#count(artifact, append === true);
    yield* this.#update(artifact, append === true, lastChunk === true);
  }

  *#open(task: Task): Generator<RemoteEvent> {
    this.#fold = new TaskFold(task);
    yield { kind: 'known', taskId: task.id, contextId: task.contextId };
  }

  *#status(
    { response, isFinal }: RemoteFrame,
    isFirst: boolean,
    metadata: JsonObject | undefined,
  ): Generator<RemoteEvent> {
    const { isLossy = false } = this.#options;
    const fold = this.#fold;
    if (fold === undefined) return;
    const { state, message } = fold.status;
    const isNews = message?.messageId !== this.#statusMessage;
    this.#statusMessage = message?.messageId;
    const isQuestion = isInterrupted(state);
    if (isTerminal(state) || isQuestion) {
      if (isLossy && isFinal !== true) return;
      // The opening snapshot can still show the question that the message answers.
      if (isQuestion && isFirst && this.isAnswer && !isLossy && 'task' in response) return;
      const task = fold.toTask();
      yield isQuestion ? { kind: 'question', task } : { kind: 'end', response: { task } };
      return;
    }
    const parts = isNews ? (message?.parts ?? []) : [];
    const isSign = 'statusUpdate' in response && (!this.#isWorking || metadata !== undefined);
    if (parts.length === 0 && !isSign) return;
    if ('statusUpdate' in response) this.#isWorking = true;
    yield { kind: 'progress', parts, ...(metadata !== undefined && { metadata }) };
  }

  *#update(artifact: Artifact, append: boolean, lastChunk: boolean): Generator<RemoteEvent> {
    const before = this.#delivered.get(artifact.artifactId);
    if (this.#options.isLossy === true) {
      const isMissed = (before?.isComplete === true && !before.isEarlier) || (append && !before);
      if (isMissed) this.#isLagging = true;
      if (this.#isLagging) return;
    }
    yield* this.#chunk(artifact, append, lastChunk);
  }

  /** Yields the content of an artifact in a snapshot that was not delivered yet. */
  *#snapshot(artifact: Artifact, lastChunk: boolean): Generator<RemoteEvent> {
    const before = this.#delivered.get(artifact.artifactId);
    const rest = before?.mark.rest(artifact.parts);
    if (before?.isComplete === true) {
      if (before.isEarlier && rest?.length !== 0) yield* this.#chunk(artifact, false, lastChunk);
    } else if (rest === undefined) yield* this.#chunk(artifact, false, lastChunk);
    else yield* this.#chunk({ ...artifact, parts: rest }, true, lastChunk);
  }

  *#chunk(artifact: Artifact, append: boolean, lastChunk: boolean): Generator<RemoteEvent> {
    if (artifact.parts.length === 0) return;
    const { artifactId } = artifact;
    const before = this.#delivered.get(artifactId);
    // An artifact of an earlier turn can be replaced under its own id.
    const isCopied = before?.isComplete === true && (append || !before.isEarlier);
    const copies = (before?.copies ?? 0) + (isCopied ? 1 : 0);
    const continued = append && !isCopied ? before : undefined;
    const mark = continued?.mark ?? ContentMark.of([]);
    mark.add(artifact.parts);
    this.#delivered.set(artifactId, { mark, isComplete: lastChunk, copies, isEarlier: false });
    const id = copies === 0 ? artifactId : `${artifactId}~${copies + 1}`;
    yield {
      kind: 'chunk',
      artifact: { ...artifact, artifactId: id },
      append: continued !== undefined,
      lastChunk,
    };
  }

  #count(artifact: Artifact, append: boolean): void {
    const count = this.#fold?.partsOf(artifact.artifactId)?.length ?? 0;
    this.#size.artifact(artifact, append, count);
  }
}

/** Keeps artifacts and metadata that a later snapshot omits. */
function completed(task: Task, before: Task): Task {
  const named = new Set(task.artifacts?.map(({ artifactId }) => artifactId));
  const kept = (before.artifacts ?? []).filter(({ artifactId }) => !named.has(artifactId));
  const metadata = { ...before.metadata, ...task.metadata };
  return {
    ...task,
    artifacts: [...kept, ...(task.artifacts ?? [])],
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}
