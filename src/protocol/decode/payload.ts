import type { StreamResponse } from '../model.ts';
import type { SendMessageResponse } from '../request-model.ts';
import { readMessage } from './message.ts';
import { type Reader, requiredObject, type Wire } from './reader.ts';
import { isUnset } from './scalars.ts';
import type { Shape } from './shape.ts';
import { readArtifactUpdate, readStatusUpdate, readTask } from './task.ts';

/** The response to a send, in its wrapper. */
export function readSendMessageResponse(
  reader: Reader,
  wire: Wire,
  shape: Shape,
): SendMessageResponse {
  const message = messageMember(wire, shape);
  exactlyOne(reader, ['task', 'message'], [wire.task, message]);
  if (!isUnset(wire.task)) return { task: readTaskMember(reader, wire.task, shape) };
  return { message: readMessageMember(reader, message, shape) };
}

/** The event of a stream, in its wrapper. */
export function readStreamResponse(reader: Reader, wire: Wire, shape: Shape): StreamResponse {
  const message = messageMember(wire, shape);
  const status = wire.statusUpdate ?? wire.status_update;
  const artifact = wire.artifactUpdate ?? wire.artifact_update;
  exactlyOne(
    reader,
    ['task', 'message', 'statusUpdate', 'artifactUpdate'],
    [wire.task, message, status, artifact],
  );
  if (!isUnset(status)) {
    return {
      statusUpdate: requiredObject(reader, status, 'statusUpdate', (inner, item) =>
        readStatusUpdate(inner, item, shape),
      ),
    };
  }
  if (!isUnset(artifact)) {
    return {
      artifactUpdate: requiredObject(reader, artifact, 'artifactUpdate', (inner, item) =>
        readArtifactUpdate(inner, item, shape),
      ),
    };
  }
  if (!isUnset(wire.task)) return { task: readTaskMember(reader, wire.task, shape) };
  return { message: readMessageMember(reader, message, shape) };
}

/** Some 0.3 peers use the field name of the proto. */
function messageMember(wire: Wire, shape: Shape): unknown {
  return shape.hasProtoNames ? (wire.message ?? wire.msg) : wire.message;
}

function readTaskMember(reader: Reader, value: unknown, shape: Shape) {
  return requiredObject(reader, value, 'task', (inner, wire) => readTask(inner, wire, shape));
}

function readMessageMember(reader: Reader, value: unknown, shape: Shape) {
  return requiredObject(reader, value, 'message', (inner, wire) => readMessage(inner, wire, shape));
}

function exactlyOne(reader: Reader, names: readonly string[], values: readonly unknown[]): void {
  const count = values.filter((value) => !isUnset(value)).length;
  if (count !== 1) reader.stop('', `must have exactly one of ${names.join(', ')}`);
}
