import type {
  Artifact,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../../model.ts';
import type { SendMessageRequest, SendMessageResponse } from '../../request-model.ts';
import { legacyData } from '../v03/part.ts';
import { encodeConfiguration } from '../v03/requests.ts';

export function encodePart(part: Part): object {
  if (part.data !== undefined) {
    const { data, ...metadata } = legacyData(part);
    return { data: { data }, ...metadata };
  }
  const encoded = part.text === undefined ? { file: encodeFile(part) } : { text: part.text };
  return part.metadata === undefined ? encoded : { ...encoded, metadata: part.metadata };
}

function encodeFile(part: Part): object {
  const content =
    part.raw === undefined ? { fileWithUri: part.url ?? '' } : { fileWithBytes: part.raw };
  return {
    ...content,
    ...(part.mediaType !== undefined && { mimeType: part.mediaType }),
    ...(part.filename !== undefined && { name: part.filename }),
  };
}

/** The 0.3 proto calls the parts `content` and has no `referenceTaskIds`. */
export function encodeMessage(message: Message): object {
  const { parts, referenceTaskIds: _, ...rest } = message;
  return { ...rest, content: parts.map(encodePart) };
}

function encodeArtifact(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

/** The 0.3 proto has two Ls. */
export function encodeState(state: TaskState): string {
  return state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state;
}

function encodeStatus(status: TaskStatus): object {
  const state = encodeState(status.state);
  if (status.message === undefined) return { ...status, state };
  return { ...status, state, message: encodeMessage(status.message) };
}

export function encodeTask(task: Task): object {
  return {
    ...task,
    status: encodeStatus(task.status),
    ...(task.artifacts && { artifacts: task.artifacts.map(encodeArtifact) }),
    ...(task.history && { history: task.history.map(encodeMessage) }),
  };
}

export function encodeSendMessageResponse(response: SendMessageResponse): object {
  return 'task' in response
    ? { task: encodeTask(response.task) }
    : { message: encodeMessage(response.message) };
}

export function encodeStreamResponse(response: StreamResponse, final: boolean): object {
  if ('statusUpdate' in response) {
    const event = response.statusUpdate;
    return { statusUpdate: { ...event, status: encodeStatus(event.status), final } };
  }
  if ('artifactUpdate' in response) {
    const event = response.artifactUpdate;
    return { artifactUpdate: { ...event, artifact: encodeArtifact(event.artifact) } };
  }
  return encodeSendMessageResponse(response);
}

/**
 * There is always a configuration: over REST, servers take a missing one for `blocking: false`,
 * which is what an absent boolean is to the proto.
 */
export function encodeSendMessage(request: SendMessageRequest): object {
  const { message, configuration = {}, metadata } = request;
  return {
    message: encodeMessage(message),
    configuration: encodeConfiguration(configuration, 'pushNotification'),
    ...(metadata && { metadata }),
  };
}
