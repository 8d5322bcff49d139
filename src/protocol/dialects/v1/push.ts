import { isObject, optionalObject, type Reader, type Wire } from '../../decode/reader.ts';
import {
  optionalId,
  optionalInteger,
  optionalString,
  requiredId,
  requiredString,
} from '../../decode/scalars.ts';
import type { Mutable } from '../../decode/shape.ts';
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model.ts';
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
} from '../../request-model.ts';
import { optionalList } from '../../decode/reader.ts';

export function readPushConfig(reader: Reader, wire: Wire): TaskPushNotificationConfig {
  const config: Mutable<TaskPushNotificationConfig> = {
    url: requiredString(reader, wire.url, 'url'),
  };
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) config.tenant = tenant;
  const id = optionalId(reader, wire.id, 'id');
  if (id !== undefined) config.id = id;
  const taskId = optionalId(reader, wire.taskId ?? wire.task_id, 'taskId');
  if (taskId !== undefined) config.taskId = taskId;
  const token = optionalString(reader, wire.token, 'token');
  if (token !== undefined) config.token = token;
  const authentication = optionalObject(
    reader,
    unlessEmpty(wire.authentication),
    'authentication',
    readAuthentication,
  );
  if (authentication !== undefined) config.authentication = authentication;
  return config;
}

/** Peers write an unset message as `{}`. */
export function unlessEmpty(value: unknown): unknown {
  const isEmpty = isObject(value) && Object.keys(value).length === 0;
  return isEmpty ? undefined : value;
}

function readAuthentication(reader: Reader, wire: Wire): AuthenticationInfo {
  const info: Mutable<AuthenticationInfo> = {
    scheme: requiredString(reader, wire.scheme, 'scheme'),
  };
  const credentials = optionalString(reader, wire.credentials, 'credentials');
  if (credentials !== undefined) info.credentials = credentials;
  return info;
}

export function readGetPushConfig(
  reader: Reader,
  wire: Wire,
): GetTaskPushNotificationConfigRequest {
  return readDeletePushConfig(reader, wire);
}

export function readDeletePushConfig(
  reader: Reader,
  wire: Wire,
): DeleteTaskPushNotificationConfigRequest {
  const request: Mutable<DeleteTaskPushNotificationConfigRequest> = {
    taskId: requiredId(reader, wire.taskId ?? wire.task_id, 'taskId'),
    id: requiredId(reader, wire.id, 'id'),
  };
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) request.tenant = tenant;
  return request;
}

export function readListPushConfigs(
  reader: Reader,
  wire: Wire,
): ListTaskPushNotificationConfigsRequest {
  const request: Mutable<ListTaskPushNotificationConfigsRequest> = {
    taskId: requiredId(reader, wire.taskId ?? wire.task_id, 'taskId'),
  };
  const tenant = optionalId(reader, wire.tenant, 'tenant');
  if (tenant !== undefined) request.tenant = tenant;
  const pageSize = optionalInteger(reader, wire.pageSize ?? wire.page_size, 'pageSize', { min: 0 });
  // Its presence is not tracked by the protocol, so 0 is unset.
  if (pageSize !== undefined && pageSize !== 0) request.pageSize = pageSize;
  const pageToken = optionalString(reader, wire.pageToken ?? wire.page_token, 'pageToken');
  if (pageToken !== undefined) request.pageToken = pageToken;
  return request;
}

export function readListPushConfigsResponse(
  reader: Reader,
  wire: Wire,
): ListTaskPushNotificationConfigsResponse {
  const nextPageToken = wire.nextPageToken ?? wire.next_page_token;
  return {
    configs: optionalList(reader, wire.configs, 'configs', readPushConfig) ?? [],
    nextPageToken: optionalString(reader, nextPageToken, 'nextPageToken') ?? '',
  };
}
