import { readClientMessage } from '../../decode/message.ts';
import { optionalObject, type Reader, requiredObject, type Wire } from '../../decode/reader.ts';
import {
  isUnset,
  optionalBoolean,
  optionalId,
  optionalInteger,
  optionalString,
  optionalStrings,
  requiredId,
  optionalTimestamp,
} from '../../decode/scalars.ts';
import type { Mutable, Shape } from '../../decode/shape.ts';
import { list, object, orElse } from '../../decode/table.ts';
import { readTask } from '../../decode/task.ts';
import { optionalStruct } from '../../decode/values.ts';
import type { TaskPushNotificationConfig } from '../../model.ts';
import type {
  CancelTaskRequest,
  GetExtendedAgentCardRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageConfiguration,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from '../../request-model.ts';
import { readPushConfig } from './push.ts';
import { shape } from './shape.ts';

export function readSendMessage(reader: Reader, wire: Wire): SendMessageRequest {
  const request: Mutable<SendMessageRequest> = {
    message: requiredObject(reader, wire.message, 'message', readMessageOfClient),
  };
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) request.tenant = tenant;
  const configuration = optionalObject(
    reader,
    wire.configuration,
    'configuration',
    readConfiguration,
  );
  if (configuration !== undefined) request.configuration = configuration;
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) request.metadata = metadata;
  return request;
}

const readMessageOfClient = (reader: Reader, wire: Wire) => readClientMessage(reader, wire, shape);

function readConfiguration(reader: Reader, wire: Wire): SendMessageConfiguration {
  const push = wire.taskPushNotificationConfig ?? wire.task_push_notification_config;
  const configuration = readCommonConfiguration(
    reader,
    wire,
    optionalObject(reader, push, 'taskPushNotificationConfig', readPushConfig),
  );
  const immediately = wire.returnImmediately ?? wire.return_immediately;
  const returnImmediately = optionalBoolean(reader, immediately, 'returnImmediately');
  if (returnImmediately !== undefined) configuration.returnImmediately = returnImmediately;
  return configuration;
}

/** The part of the configuration that both versions spell alike. */
export function readCommonConfiguration(
  reader: Reader,
  wire: Wire,
  push: TaskPushNotificationConfig | undefined,
): Mutable<SendMessageConfiguration> {
  const configuration: Mutable<SendMessageConfiguration> = {};
  const modes = wire.acceptedOutputModes ?? wire.accepted_output_modes;
  const acceptedOutputModes = optionalStrings(reader, modes, 'acceptedOutputModes');
  if (acceptedOutputModes !== undefined) configuration.acceptedOutputModes = acceptedOutputModes;
  if (push !== undefined) configuration.taskPushNotificationConfig = push;
  const historyLength = readHistoryLength(reader, wire);
  if (historyLength !== undefined) configuration.historyLength = historyLength;
  return configuration;
}

export function readHistoryLength(reader: Reader, wire: Wire): number | undefined {
  return optionalCount(reader, wire.historyLength ?? wire.history_length, 'historyLength');
}

function optionalCount(reader: Reader, value: unknown, field: string): number | undefined {
  return optionalInteger(reader, value, field, { min: 0 });
}

export function readGetTask(reader: Reader, wire: Wire): GetTaskRequest {
  const request: Mutable<GetTaskRequest> = { id: requiredId(reader, wire.id, 'id') };
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) request.tenant = tenant;
  const historyLength = readHistoryLength(reader, wire);
  if (historyLength !== undefined) request.historyLength = historyLength;
  return request;
}

const target = { id: requiredId, tenant: optionalId };

export const readCancelTask = object<CancelTaskRequest>({ ...target, metadata: optionalStruct });

export const readSubscribe = object<SubscribeToTaskRequest>(target);

export const readExtendedCard = object<GetExtendedAgentCardRequest>({ tenant: optionalId });

export function listTasksReader(shape: Shape) {
  return object<ListTasksRequest>({
    tenant: optionalId,
    contextId: optionalId,
    status: (reader, value, field) => {
      if (isUnset(value) || value === '') return undefined;
      const state = shape.state(value);
      if (state === undefined) reader.fail(field, 'must be a task state');
      // The unspecified state does not filter.
      return state === 'TASK_STATE_UNSPECIFIED' ? undefined : state;
    },
    pageSize: (reader, value, field) => optionalInteger(reader, value, field, { min: 1, max: 100 }),
    pageToken: optionalString,
    historyLength: optionalCount,
    statusTimestampAfter: (reader, value, field) =>
      optionalTimestamp(reader, value, field, { zoneless: shape.zonelessTimes }),
    includeArtifacts: optionalBoolean,
  });
}

export function listTasksResponseReader(shape: Shape) {
  return object<ListTasksResponse>({
    tasks: orElse(
      list((reader, wire) => readTask(reader, wire, shape)),
      [],
    ),
    nextPageToken: orElse(optionalString, ''),
    pageSize: orElse(optionalCount, 0),
    totalSize: orElse(optionalCount, 0),
  });
}
