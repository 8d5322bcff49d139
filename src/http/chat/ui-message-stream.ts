import {
  isInterrupted,
  isTurnEnd,
  type JsonObject,
  type JsonValue,
  type Message,
  type Part,
  type StreamResponse,
  type TaskState,
  textOf,
} from '../../protocol/index.ts';

/** A chunk of the AI SDK's UI message stream, version 1. */
type Chunk = Readonly<Record<string, JsonValue>> & { readonly type: string };

/** Ends every stream. */
export const done = 'data: [DONE]\n\n';

/** Marks a text part that the next text part replaces. */
const replaced: JsonObject = { legate: { isReplaced: true } };

export function encodeChunk(chunk: Chunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/**
 * Encodes the events of a task as a UI message stream. Text of artifacts and of the last status becomes
 * text, files become files, data becomes `data-artifact`, messages of working states become
 * `data-progress` (transient), and a question becomes text and `data-question`. A text that the agent
 * replaced has `providerMetadata.legate.isReplaced`. The message metadata has the task id, the context id
 * and the state.
 */
export class UiMessageStream {
  /** Whether the page was reloaded and needs the artifacts from before this stream. */
  readonly #isResumed: boolean;
  #taskId = '';
  #contextId = '';
  #hasStarted = false;
  /** The ids of open text parts, by artifact id. */
  readonly #open = new Map<string, string>();
  #texts = 0;

  constructor({ isResumed }: { readonly isResumed: boolean }) {
    this.#isResumed = isResumed;
  }

  /** Encodes one event; `isLast` ends the stream. */
  encode(event: StreamResponse, isLast: boolean): string {
    const chunks = [...this.#chunksOf(event, isLast)];
    const text = chunks.map(encodeChunk).join('');
    return isLast ? `${text}${done}` : text;
  }

  *#chunksOf(event: StreamResponse, isLast: boolean): Generator<Chunk> {
    if ('message' in event) {
      yield* this.#start('', event.message.contextId ?? '');
      yield* this.#said(event.message);
      yield* this.#finish('TASK_STATE_COMPLETED');
    } else if ('task' in event) {
      const { id, contextId, artifacts = [], status } = event.task;
      yield* this.#start(id, contextId);
      // When the message continues an interrupted task, the page has the earlier artifacts already.
      const shown = this.#isResumed || isLast ? artifacts : [];
      for (const { artifactId, parts } of shown) yield* this.#artifact(artifactId, parts, true);
      if (isLast) yield* this.#end(status.state, status.message);
    } else if ('artifactUpdate' in event) {
      const { artifact, append = false, lastChunk = false } = event.artifactUpdate;
      // Text that was sent can't be removed: mark it as replaced and send the artifact again.
      if (!append) yield* this.#close(artifact.artifactId, replaced);
      yield* this.#artifact(artifact.artifactId, artifact.parts, append);
      if (lastChunk) yield* this.#close(artifact.artifactId);
    } else {
      const { state, message } = event.statusUpdate.status;
      if (isTurnEnd(state)) yield* this.#end(state, message);
      else if (message !== undefined) {
        const data = { text: textOf(message) };
        yield { type: 'data-progress', data, transient: true };
      }
    }
  }

  *#start(taskId: string, contextId: string): Generator<Chunk> {
    this.#taskId = taskId;
    this.#contextId = contextId;
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    yield { type: 'start', messageMetadata: { taskId, contextId } };
  }

  *#artifact(artifactId: string, parts: readonly Part[], append: boolean): Generator<Chunk> {
    if (!append) yield* this.#close(artifactId);
    for (const part of parts) {
      if (part.text !== undefined) yield* this.#text(artifactId, part.text);
      else yield* content(part);
    }
  }

  *#text(artifactId: string, given: string): Generator<Chunk> {
    let id = this.#open.get(artifactId);
    // Leading newlines only separate this text from an earlier message of the task.
    const delta = id === undefined ? given.replace(/^\n+/, '') : given;
    if (id === undefined && delta === '') return;
    if (id === undefined) {
      this.#texts += 1;
      id = `${artifactId}-${this.#texts}`;
      this.#open.set(artifactId, id);
      yield { type: 'text-start', id };
    }
    if (delta !== '') yield { type: 'text-delta', id, delta };
  }

  *#close(artifactId: string, providerMetadata?: JsonObject): Generator<Chunk> {
    const id = this.#open.get(artifactId);
    if (id === undefined) return;
    this.#open.delete(artifactId);
    yield { type: 'text-end', id, ...(providerMetadata !== undefined && { providerMetadata }) };
  }

  *#said({ parts }: Pick<Message, 'parts'>): Generator<Chunk> {
    yield* this.#artifact('status', parts, true);
    yield* this.#close('status');
  }

  *#end(state: TaskState, message: Message | undefined): Generator<Chunk> {
    for (const artifactId of this.#open.keys()) yield* this.#close(artifactId);
    const isFailed = state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED';
    if (message !== undefined && !isFailed) yield* this.#said(message);
    if (isInterrupted(state)) {
      yield { type: 'data-question', data: { taskId: this.#taskId, state } };
    }
    yield* this.#finish(state);
    if (isFailed) {
      const why = message === undefined ? '' : textOf(message);
      yield { type: 'error', errorText: why === '' ? 'The agent failed.' : why };
    }
    if (state === 'TASK_STATE_CANCELED') yield { type: 'abort' };
  }

  *#finish(state: TaskState): Generator<Chunk> {
    const messageMetadata = { taskId: this.#taskId, contextId: this.#contextId, state };
    yield { type: 'finish', messageMetadata };
  }
}

function* content({ data, raw, url, mediaType }: Part): Generator<Chunk> {
  const type = mediaType ?? 'application/octet-stream';
  if (data !== undefined) yield { type: 'data-artifact', data };
  else if (raw !== undefined) {
    yield { type: 'file', mediaType: type, url: `data:${type};base64,${raw}` };
  } else if (url !== undefined) yield { type: 'file', mediaType: type, url };
}
