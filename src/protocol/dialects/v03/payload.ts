import { readMessage } from '../../decode/message.ts';
import { readStreamResponse } from '../../decode/payload.ts';
import type { Reader, Wire } from '../../decode/reader.ts';
import { isUnset } from '../../decode/scalars.ts';
import type { Shape } from '../../decode/shape.ts';
import { readArtifactUpdate, readStatusUpdate, readTask } from '../../decode/task.ts';
import type { StreamResponse } from '../../model.ts';
import type { SendMessageResponse } from '../../request-model.ts';

/** Reads the event of a stream: a bare object with its `kind`, or in a wrapper, as in the REST form. */
export function readPayload(reader: Reader, wire: Wire, shape: Shape): StreamResponse {
  switch (kindOf(wire)) {
    case 'task':
      return { task: readTask(reader, wire, shape) };
    case 'message':
      return { message: readMessage(reader, wire, shape) };
    case 'status-update':
      return { statusUpdate: readStatusUpdate(reader, wire, shape) };
    case 'artifact-update':
      return { artifactUpdate: readArtifactUpdate(reader, wire, shape) };
    default:
      return isUnset(wire.kind)
        ? readStreamResponse(reader, wire, shape)
        : reader.stop('kind', 'must be task, message, status-update or artifact-update');
  }
}

export function readResponse(reader: Reader, wire: Wire, shape: Shape): SendMessageResponse {
  const payload = readPayload(reader, wire, shape);
  if ('task' in payload || 'message' in payload) return payload;
  return reader.stop('kind', 'must be task or message');
}

/** The kind, recognized by the fields if a peer omits it. */
function kindOf(wire: Wire): string | undefined {
  if (typeof wire.kind === 'string') return wire.kind;
  if (!isUnset(wire.artifact)) return 'artifact-update';
  if (!isUnset(wire.status)) {
    return isUnset(wire.taskId ?? wire.task_id) ? 'task' : 'status-update';
  }
  return isUnset(wire.parts ?? wire.content) ? undefined : 'message';
}
