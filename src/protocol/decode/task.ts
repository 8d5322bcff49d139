import type { Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent } from '../model.ts';
import { readArtifact, readMessage } from './message.ts';
import { optionalList, optionalObject, type Reader, requiredObject, type Wire } from './reader.ts';
import { isUnset, optionalBoolean, optionalId, optionalTimestamp, requiredId } from './scalars.ts';
import type { Mutable, Shape } from './shape.ts';
import { optionalStruct } from './values.ts';

export function readTask(reader: Reader, wire: Wire, shape: Shape): Task {
  shape.expectKind(reader, wire, 'task');
  const task: Mutable<Task> = {
    id: requiredId(reader, wire.id, 'id'),
    // 1.x doesn't require peers to send it; tasks of Legate always have it.
    contextId: optionalId(reader, wire.contextId ?? wire.context_id, 'contextId') ?? '',
    status: readStatus(reader, wire.status, shape),
  };
  const artifacts = optionalList(reader, wire.artifacts, 'artifacts', (inner, item) =>
    readArtifact(inner, item, shape),
  );
  if (artifacts !== undefined) task.artifacts = artifacts;
  const history = optionalList(reader, wire.history, 'history', (inner, item) =>
    readMessage(inner, item, shape),
  );
  if (history !== undefined) task.history = history;
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) task.metadata = metadata;
  return task;
}

function readStatus(reader: Reader, value: unknown, shape: Shape): TaskStatus {
  return requiredObject(reader, value, 'status', (inner, wire) => {
    const state = shape.state(wire.state);
    if (state === undefined) {
      inner.fail('state', isUnset(wire.state) ? 'is required' : 'must be a task state');
    }
    const status: Mutable<TaskStatus> = { state: state ?? 'TASK_STATE_UNSPECIFIED' };
    const update = shape.hasProtoNames ? (wire.message ?? wire.update) : wire.message;
    const message = optionalObject(inner, update, 'message', (deeper, item) =>
      readMessage(deeper, item, shape),
    );
    if (message !== undefined) status.message = message;
    const timestamp = optionalTimestamp(inner, wire.timestamp, 'timestamp', {
      zoneless: shape.zonelessTimes,
    });
    if (timestamp !== undefined) status.timestamp = timestamp;
    return status;
  });
}

export function readStatusUpdate(reader: Reader, wire: Wire, shape: Shape): TaskStatusUpdateEvent {
  shape.expectKind(reader, wire, 'status-update');
  const event: Mutable<TaskStatusUpdateEvent> = {
    taskId: requiredId(reader, wire.taskId ?? wire.task_id, 'taskId'),
    contextId: requiredId(reader, wire.contextId ?? wire.context_id, 'contextId'),
    status: readStatus(reader, wire.status, shape),
  };
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) event.metadata = metadata;
  return event;
}

export function readArtifactUpdate(
  reader: Reader,
  wire: Wire,
  shape: Shape,
): TaskArtifactUpdateEvent {
  shape.expectKind(reader, wire, 'artifact-update');
  const event: Mutable<TaskArtifactUpdateEvent> = {
    taskId: requiredId(reader, wire.taskId ?? wire.task_id, 'taskId'),
    contextId: requiredId(reader, wire.contextId ?? wire.context_id, 'contextId'),
    artifact: requiredObject(reader, wire.artifact, 'artifact', (inner, item) =>
      readArtifact(inner, item, shape),
    ),
  };
  const append = optionalBoolean(reader, wire.append, 'append');
  if (append !== undefined) event.append = append;
  const lastChunk = optionalBoolean(reader, wire.lastChunk ?? wire.last_chunk, 'lastChunk');
  if (lastChunk !== undefined) event.lastChunk = lastChunk;
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) event.metadata = metadata;
  return event;
}
