import { readClientMessage } from '../../decode/message.ts';
import {
  optionalList,
  optionalObject,
  type Reader,
  requiredObject,
  type Wire,
} from '../../decode/reader.ts';
import {
  isUnset,
  optionalBoolean,
  optionalId,
  optionalInteger,
  optionalString,
  optionalStrings,
  requiredId,
} from '../../decode/scalars.ts';
import type { Mutable, Shape } from '../../decode/shape.ts';
import { readTask } from '../../decode/task.ts';
import { optionalTimestamp } from '../../decode/timestamp.ts';
import { optionalStruct } from '../../decode/values.ts';
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
  const configuration: Mutable<SendMessageConfiguration> = {};
  const modes = wire.acceptedOutputModes ?? wire.accepted_output_modes;
  const acceptedOutputModes = optionalStrings(reader, modes, 'acceptedOutputModes');
  if (acceptedOutputModes !== undefined) configuration.acceptedOutputModes = acceptedOutputModes;
  const push = optionalObject(
    reader,
    wire.taskPushNotificationConfig ?? wire.task_push_notification_config,
    'taskPushNotificationConfig',
    readPushConfig,
  );
  if (push !== undefined) configuration.taskPushNotificationConfig = push;
  const historyLength = readHistoryLength(reader, wire);
  if (historyLength !== undefined) configuration.historyLength = historyLength;
  const immediately = wire.returnImmediately ?? wire.return_immediately;
  const returnImmediately = optionalBoolean(reader, immediately, 'returnImmediately');
  if (returnImmediately !== undefined) configuration.returnImmediately = returnImmediately;
  return configuration;
}

export function readHistoryLength(reader: Reader, wire: Wire): number | undefined {
  const value = wire.historyLength ?? wire.history_length;
  return optionalInteger(reader, value, 'historyLength', { min: 0 });
}

export function readGetTask(reader: Reader, wire: Wire): GetTaskRequest {
  const request: Mutable<GetTaskRequest> = readSubscribe(reader, wire);
  const historyLength = readHistoryLength(reader, wire);
  if (historyLength !== undefined) request.historyLength = historyLength;
  return request;
}

export function readCancelTask(reader: Reader, wire: Wire): CancelTaskRequest {
  const request: Mutable<CancelTaskRequest> = readSubscribe(reader, wire);
  const metadata = optionalStruct(reader, wire.metadata, 'metadata');
  if (metadata !== undefined) request.metadata = metadata;
  return request;
}

export function readSubscribe(reader: Reader, wire: Wire): SubscribeToTaskRequest {
  const request: Mutable<SubscribeToTaskRequest> = { id: requiredId(reader, wire.id, 'id') };
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) request.tenant = tenant;
  return request;
}

export function readExtendedCard(reader: Reader, wire: Wire): GetExtendedAgentCardRequest {
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  return tenant === undefined ? {} : { tenant };
}

export function readListTasks(reader: Reader, wire: Wire, of: Shape = shape): ListTasksRequest {
  const request: Mutable<ListTasksRequest> = {};
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) request.tenant = tenant;
  const contextId = optionalId(reader, wire.contextId ?? wire.context_id, 'contextId');
  if (contextId !== undefined) request.contextId = contextId;
  const status = isUnset(wire.status) || wire.status === '' ? undefined : of.state(wire.status);
  // The unspecified state is no filter at all.
  if (status !== undefined && status !== 'TASK_STATE_UNSPECIFIED') request.status = status;
  else if (status === undefined && !isUnset(wire.status) && wire.status !== '') {
    reader.fail('status', 'must be a task state');
  }
  const size = wire.pageSize ?? wire.page_size;
  const pageSize = optionalInteger(reader, size, 'pageSize', { min: 1, max: 100 });
  if (pageSize !== undefined) request.pageSize = pageSize;
  const pageToken = optionalString(reader, wire.pageToken ?? wire.page_token, 'pageToken');
  if (pageToken !== undefined) request.pageToken = pageToken;
  const historyLength = readHistoryLength(reader, wire);
  if (historyLength !== undefined) request.historyLength = historyLength;
  const after = wire.statusTimestampAfter ?? wire.status_timestamp_after;
  const statusTimestampAfter = optionalTimestamp(reader, after, 'statusTimestampAfter', {
    zoneless: of.zonelessTimes,
  });
  if (statusTimestampAfter !== undefined) request.statusTimestampAfter = statusTimestampAfter;
  const artifacts = wire.includeArtifacts ?? wire.include_artifacts;
  const includeArtifacts = optionalBoolean(reader, artifacts, 'includeArtifacts');
  if (includeArtifacts !== undefined) request.includeArtifacts = includeArtifacts;
  return request;
}

export function readListTasksResponse(
  reader: Reader,
  wire: Wire,
  of: Shape = shape,
): ListTasksResponse {
  const size = wire.pageSize ?? wire.page_size;
  const total = wire.totalSize ?? wire.total_size;
  const token = wire.nextPageToken ?? wire.next_page_token;
  // Generic ProtoJSON writers leave out what is empty, required or not.
  return {
    tasks:
      optionalList(reader, wire.tasks, 'tasks', (inner, item) => readTask(inner, item, of)) ?? [],
    nextPageToken: optionalString(reader, token, 'nextPageToken') ?? '',
    pageSize: optionalInteger(reader, size, 'pageSize', { min: 0 }) ?? 0,
    totalSize: optionalInteger(reader, total, 'totalSize', { min: 0 }) ?? 0,
  };
}
