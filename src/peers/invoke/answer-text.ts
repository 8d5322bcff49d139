import { questionIdOf } from '../../client/index.ts';
import {
  type Artifact,
  isJsonObject,
  type JsonObject,
  type Part,
  type SendMessageResponse,
  type StreamResponse,
  type TaskState,
} from '../../protocol/index.ts';

/** The content of a peer's answer: nothing of it is left out. */
export interface AnswerContent {
  readonly state: TaskState;
  readonly text: string;
  readonly data: readonly JsonObject[];
  /** Whatever is more than text and data, or has a name of its own. */
  readonly artifacts: readonly Artifact[];
  readonly taskId?: string;
  readonly contextId?: string;
  /** Tells an answer that comes twice from two answers. */
  readonly id: string;
  /** What the last status said, for questions. */
  readonly statusParts: readonly Part[];
}

export function contentOf(response: SendMessageResponse): AnswerContent {
  if ('message' in response) {
    const { parts, messageId, contextId } = response.message;
    return {
      ...readParts(parts),
      state: 'TASK_STATE_COMPLETED',
      artifacts: [],
      id: messageId,
      statusParts: parts,
      ...(contextId !== undefined && { contextId }),
    };
  }
  const { id: taskId, contextId, status, artifacts = [] } = response.task;
  const statusParts = status.message?.parts ?? [];
  const parts = [...artifacts.flatMap((artifact) => artifact.parts), ...statusParts];
  return {
    ...readParts(parts),
    state: status.state,
    artifacts,
    taskId,
    contextId,
    id: questionIdOf(response.task),
    statusParts,
  };
}

export function readParts(parts: readonly Part[]): Pick<AnswerContent, 'text' | 'data'> {
  return {
    text: textOfParts(parts),
    data: parts.flatMap(({ data }) =>
      data === undefined ? [] : [isJsonObject(data) ? data : { value: data }],
    ),
  };
}

/** Texts one below the other; files are named, since they have no words. */
export function textOfParts(parts: readonly Part[]): string {
  return parts
    .flatMap((part) => {
      if (part.text !== undefined) return part.text === '' ? [] : [part.text];
      if (part.url !== undefined) return [`[file ${part.filename ?? ''} at ${part.url}]`];
      if (part.raw === undefined) return [];
      return [`[file ${part.filename ?? part.mediaType ?? ''}]`];
    })
    .join('\n');
}

/**
 * What a peer says on its way, in words.
 * @example
 * for await (const { response } of client.sendStreamingMessage('Hello')) {
 *   console.log(progressOf(response));
 * }
 */
export function progressOf(event: StreamResponse): string {
  if (!('statusUpdate' in event)) return '';
  return textOfParts(event.statusUpdate.status.message?.parts ?? []);
}
