import { readClientMessage } from '../../decode/message.ts';
import {
  isObject,
  optionalObject,
  type Reader,
  requiredObject,
  type Wire,
} from '../../decode/reader.ts';
import { optionalBoolean, optionalStrings, requiredId } from '../../decode/scalars.ts';
import type { Mutable, Shape } from '../../decode/shape.ts';
import { optionalStruct } from '../../decode/values.ts';
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageConfiguration,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from '../../request-model.ts';
import { readHistoryLength } from '../v1/requests.ts';
import { encodeMessage } from './encode.ts';
import { stateName } from './names.ts';
import { encodePushDetails, readPushDetails } from './push.ts';

export function readSendMessage(reader: Reader, wire: Wire, shape: Shape): SendMessageRequest {
  // The proto calls it `request`.
  const message = wire.message ?? wire.request;
  const request: Mutable<SendMessageRequest> = {
    message: requiredObject(reader, message, 'message', (inner, item) =>
      readClientMessage(inner, item, shape),
    ),
  };
  // ProtoJSON, told by its `content`, leaves out what is false: its absence is all that says so.
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

function readConfiguration(
  reader: Reader,
  wire: Wire,
  blocksByDefault: boolean,
): SendMessageConfiguration {
  const configuration: Mutable<SendMessageConfiguration> = {};
  const modes = wire.acceptedOutputModes ?? wire.accepted_output_modes;
  const acceptedOutputModes = optionalStrings(reader, modes, 'acceptedOutputModes');
  if (acceptedOutputModes !== undefined) configuration.acceptedOutputModes = acceptedOutputModes;
  const push = optionalObject(
    reader,
    wire.pushNotificationConfig ??
      wire.push_notification_config ??
      wire.pushNotification ??
      wire.push_notification,
    'pushNotificationConfig',
    readPushDetails,
  );
  if (push !== undefined) configuration.taskPushNotificationConfig = push;
  const historyLength = readHistoryLength(reader, wire);
  if (historyLength !== undefined) configuration.historyLength = historyLength;
  const blocking = optionalBoolean(reader, wire.blocking, 'blocking') ?? blocksByDefault;
  if (!blocking) configuration.returnImmediately = true;
  return configuration;
}

export function encodeSendMessage(request: SendMessageRequest): object {
  const { message, configuration, metadata } = request;
  return {
    message: encodeMessage(message),
    ...(configuration && {
      configuration: encodeConfiguration(configuration, 'pushNotificationConfig'),
    }),
    ...(metadata && { metadata }),
  };
}

/** `blocking` is always said: servers differ in what they take its absence to mean. */
export function encodeConfiguration(
  configuration: SendMessageConfiguration,
  pushName: 'pushNotificationConfig' | 'pushNotification',
): object {
  const { returnImmediately = false, taskPushNotificationConfig: push, ...rest } = configuration;
  return {
    ...rest,
    blocking: !returnImmediately,
    ...(push && { [pushName]: encodePushDetails(push) }),
  };
}

export function readSubscribe(reader: Reader, wire: Wire): SubscribeToTaskRequest {
  return { id: requiredId(reader, wire.id, 'id') };
}

export function readGetTask(reader: Reader, wire: Wire): GetTaskRequest {
  const id = requiredId(reader, wire.id, 'id');
  const historyLength = readHistoryLength(reader, wire);
  return historyLength === undefined ? { id } : { id, historyLength };
}

export function readCancelTask(reader: Reader, wire: Wire): CancelTaskRequest {
  const id = requiredId(reader, wire.id, 'id');
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  return metadata === undefined ? { id } : { id, metadata };
}

/** 0.3 has no tenants. */
export function withoutTenant<T extends { readonly tenant?: string }>(request: T): object {
  const { tenant: _, ...rest } = request;
  return rest;
}

export function encodeListTasks(request: ListTasksRequest): object {
  const { status, ...rest } = request;
  const encoded = withoutTenant(rest);
  return status === undefined ? encoded : { ...encoded, status: stateName(status) };
}
