import type { Artifact, Message, Part, Role } from '../model.ts';
import { optionalList, type Reader, type Wire } from './reader.ts';
import {
  isUnset,
  optionalId,
  optionalString,
  optionalStrings,
  optionalText,
  requiredId,
} from './scalars.ts';
import type { Mutable, Shape } from './shape.ts';
import { optionalStruct } from './values.ts';

export function readMessage(reader: Reader, wire: Wire, shape: Shape): Message {
  shape.expectKind(reader, wire, 'message');
  const message: Mutable<Message> = {
    messageId: readMessageId(reader, wire.messageId ?? wire.message_id),
    role: readRole(reader, wire.role, shape),
    parts:
      shape.hasProtoNames && isUnset(wire.parts)
        ? readParts(reader, wire.content, shape, 'content', reader.limits.maxParts)
        : readParts(reader, wire.parts, shape, 'parts', reader.limits.maxParts),
  };
  const contextId = optionalId(reader, wire.contextId ?? wire.context_id, 'contextId');
  if (contextId !== undefined) message.contextId = contextId;
  const taskId = optionalId(reader, wire.taskId ?? wire.task_id, 'taskId');
  if (taskId !== undefined) message.taskId = taskId;
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) message.metadata = metadata;
  const extensions = optionalStrings(reader, wire.extensions, 'extensions');
  if (extensions !== undefined) message.extensions = extensions;
  const references = wire.referenceTaskIds ?? wire.reference_task_ids;
  const referenceTaskIds = optionalStrings(reader, references, 'referenceTaskIds');
  if (referenceTaskIds !== undefined) message.referenceTaskIds = referenceTaskIds;
  return message;
}

/** A message of a client, which must have the user role. */
export function readClientMessage(reader: Reader, wire: Wire, shape: Shape): Message {
  const message = readMessage(reader, wire, shape);
  if (message.role !== 'ROLE_USER') {
    reader.fail('role', 'must be the user role: clients send only user messages');
  }
  return message;
}

function readMessageId(reader: Reader, value: unknown): string {
  if ((isUnset(value) || value === '') && reader.newMessageId !== undefined) {
    return reader.newMessageId();
  }
  return requiredId(reader, value, 'messageId');
}

function readRole(reader: Reader, value: unknown, shape: Shape): Role {
  const role = shape.role(value);
  if (role !== undefined && role !== 'ROLE_UNSPECIFIED') return role;
  reader.fail('role', isUnset(value) ? 'is required' : 'must be the user or the agent role');
  // A placeholder: the violation makes the decoder throw.
  return 'ROLE_USER';
}

export function readArtifact(reader: Reader, wire: Wire, shape: Shape): Artifact {
  const artifact: Mutable<Artifact> = {
    artifactId: requiredId(reader, wire.artifactId ?? wire.artifact_id, 'artifactId'),
    // An artifact grows by chunks, so only the size limit of the whole task bounds its parts.
    parts: readParts(reader, wire.parts, shape, 'parts', Number.MAX_SAFE_INTEGER),
  };
  const name = optionalString(reader, wire.name, 'name');
  if (name !== undefined) artifact.name = name;
  const description = optionalText(reader, wire.description, 'description');
  if (description !== undefined) artifact.description = description;
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) artifact.metadata = metadata;
  const extensions = optionalStrings(reader, wire.extensions, 'extensions');
  if (extensions !== undefined) artifact.extensions = extensions;
  return artifact;
}

function readParts(
  reader: Reader,
  value: unknown,
  shape: Shape,
  field: string,
  maxParts: number,
): readonly Part[] {
  // ProtoJSON writers omit empty lists.
  if (reader.allowEmptyParts && isUnset(value)) return [];
  if (!Array.isArray(value)) {
    reader.fail(field, isUnset(value) ? 'is required' : 'must be an array');
    return [];
  }
  if (value.length === 0 && !reader.allowEmptyParts) {
    reader.fail(field, 'must have at least one part');
  }
  if (value.length > maxParts) {
    reader.fail(field, `must have at most ${maxParts} parts`);
    return [];
  }
  return optionalList(reader, value, field, (inner, part) => shape.readPart(inner, part)) ?? [];
}
