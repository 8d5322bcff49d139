import { readClientMessage } from '../../decode/message.ts';
import {
  isObject,
  optionalObject,
  type Reader,
  requiredObject,
  type Wire,
} from '../../decode/reader.ts';
import { isUnset, optionalBoolean } from '../../decode/scalars.ts';
import type { Mutable, Shape } from '../../decode/shape.ts';
import { optionalStruct } from '../../decode/values.ts';
import type { SendMessageConfiguration, SendMessageRequest } from '../../request-model.ts';
import { readCommonConfiguration } from '../v1/requests.ts';
import { readPushDetails } from './push.ts';

export function readSendMessage(reader: Reader, wire: Wire, shape: Shape): SendMessageRequest {
  // The proto names it `request`.
  const message = wire.message ?? wire.request;
  const request: Mutable<SendMessageRequest> = {
    message: requiredObject(reader, message, 'message', (inner, item) =>
      readClientMessage(inner, item, shape),
    ),
  };
  if (!shape.takesProtoJson && isObject(message)) checkKinds(reader, message.parts);
  // ProtoJSON, recognised by its `content`, omits false values: an absent `blocking` is false.
  const isProtoJson = shape.takesProtoJson && isObject(message) && 'content' in message;
  const configuration = optionalObject(reader, wire.configuration, 'configuration', (inner, item) =>
    readConfiguration(inner, item, !isProtoJson),
  );
  if (configuration !== undefined && Object.keys(configuration).length > 0) {
    request.configuration = configuration;
  }
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) request.metadata = metadata;
  return request;
}

/** The `kind` identifies a part (6.5). Agents can omit it in responses, clients must send it. */
function checkKinds(reader: Reader, parts: unknown): void {
  if (!Array.isArray(parts)) return;
  for (const [index, part] of parts.entries()) {
    // A part without content was already rejected.
    if (!isObject(part) || kinds.some((kind) => part.kind === kind)) continue;
    if (kinds.every((kind) => isUnset(part[kind]))) continue;
    reader.fail(`message.parts[${index}].kind`, 'must be text, file or data');
  }
}

const kinds = ['text', 'file', 'data'] as const;

function readConfiguration(
  reader: Reader,
  wire: Wire,
  blocksByDefault: boolean,
): SendMessageConfiguration {
  const push =
    wire.pushNotificationConfig ??
    wire.push_notification_config ??
    wire.pushNotification ??
    wire.push_notification;
  const configuration = readCommonConfiguration(
    reader,
    wire,
    optionalObject(reader, push, 'pushNotificationConfig', readPushDetails),
  );
  const blocking = optionalBoolean(reader, wire.blocking, 'blocking') ?? blocksByDefault;
  if (!blocking) configuration.returnImmediately = true;
  return configuration;
}
