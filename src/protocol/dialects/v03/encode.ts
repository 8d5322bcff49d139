import type { Artifact, Message, StreamResponse, Task, TaskStatus } from '../../model.ts';
import type { SendMessageResponse } from '../../request-model.ts';
import { roleName, stateName } from './names.ts';
import { encodePart } from './part.ts';

export function encodeMessage(message: Message): object {
  return {
    ...message,
    kind: 'message',
    role: roleName(message.role),
    parts: message.parts.map(encodePart),
  };
}

export function encodeArtifact(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

function encodeStatus(status: TaskStatus): object {
  const state = stateName(status.state);
  if (status.message === undefined) return { ...status, state };
  return { ...status, state, message: encodeMessage(status.message) };
}

export function encodeTask(task: Task): object {
  return {
    ...task,
    kind: 'task',
    status: encodeStatus(task.status),
    ...(task.artifacts && { artifacts: task.artifacts.map(encodeArtifact) }),
    ...(task.history && { history: task.history.map(encodeMessage) }),
  };
}

export function encodeSendMessageResponse(response: SendMessageResponse): object {
  return 'task' in response ? encodeTask(response.task) : encodeMessage(response.message);
}

export function encodeStreamResponse(response: StreamResponse, final: boolean): object {
  if ('statusUpdate' in response) {
    const event = response.statusUpdate;
    return { ...event, kind: 'status-update', status: encodeStatus(event.status), final };
  }
  if ('artifactUpdate' in response) {
    const event = response.artifactUpdate;
    return { ...event, kind: 'artifact-update', artifact: encodeArtifact(event.artifact) };
  }
  return encodeSendMessageResponse(response);
}
