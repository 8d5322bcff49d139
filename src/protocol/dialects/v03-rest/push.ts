import { isObject, optionalList, type Reader, type Wire } from '../../decode/reader.ts';
import {
  isUnset,
  optionalId,
  optionalInteger,
  optionalString,
  requiredId,
} from '../../decode/scalars.ts';
import type { Mutable } from '../../decode/shape.ts';
import type { TaskPushNotificationConfig } from '../../model.ts';
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
} from '../../request-model.ts';
import {
  encodePushDetails,
  readDeletePushConfig as readDeleteByIds,
  readGetPushConfig as readGetByIds,
  readPushConfig as readWrapped,
  readPushDetails,
} from '../v03/push.ts';
import { configName, readResourceName, readTaskId, taskName } from './resource-name.ts';

/**
 * A configuration as a resource, as the request that creates one (`{ parent, configId, config }`),
 * in the JSON-RPC form (`{ taskId, pushNotificationConfig }`), or bare.
 */
export function readPushConfig(reader: Reader, wire: Wire): TaskPushNotificationConfig {
  if (!isObject(wire.config)) return readResource(reader, wire);
  const config = readResource(reader, wire.config);
  const { taskId } = isUnset(wire.parent)
    ? config
    : readResourceName(reader, wire.parent, 'parent');
  const id = config.id ?? optionalId(reader, wire.configId ?? wire.config_id, 'configId');
  return { ...config, ...(taskId !== undefined && { taskId }), ...(id !== undefined && { id }) };
}

function readResource(reader: Reader, wire: Wire): TaskPushNotificationConfig {
  const isBare = isUnset(wire.pushNotificationConfig ?? wire.push_notification_config);
  if (isBare && !isUnset(wire.url)) return readPushDetails(reader, wire);
  const config = readWrapped(reader, wire);
  if (isUnset(wire.name) || wire.name === '') return config;
  const name = readResourceName(reader, wire.name, 'name');
  const id = config.id ?? name.configId;
  return { ...config, taskId: name.taskId, ...(id !== undefined && { id }) };
}

export function encodePushConfig(config: TaskPushNotificationConfig): object {
  const { id = '', taskId } = config;
  return {
    ...(taskId !== undefined && { name: configName(taskId, id) }),
    pushNotificationConfig: encodePushDetails(config),
  };
}

export function readGetPushConfig(
  reader: Reader,
  wire: Wire,
): GetTaskPushNotificationConfigRequest {
  if (isUnset(wire.name)) return readByIds(wire, reader, readGetByIds);
  const { taskId, configId } = readResourceName(reader, wire.name, 'name');
  return configId === undefined ? { taskId } : { taskId, id: configId };
}

export function readDeletePushConfig(
  reader: Reader,
  wire: Wire,
): DeleteTaskPushNotificationConfigRequest {
  if (isUnset(wire.name)) return readByIds(wire, reader, readDeleteByIds);
  const { taskId, configId } = readResourceName(reader, wire.name, 'name');
  return { taskId, id: requiredId(reader, configId, 'name') };
}

/** Plain ids: as the JSON-RPC form names them, or as the path of the request does. */
function readByIds<T>(wire: Wire, reader: Reader, read: (reader: Reader, wire: Wire) => T): T {
  const taskId = wire.taskId ?? wire.task_id;
  if (isUnset(taskId)) return read(reader, wire);
  return read(reader, { id: taskId, pushNotificationConfigId: wire.id });
}

export function encodeConfigName(request: GetTaskPushNotificationConfigRequest): object {
  const { taskId, id } = request;
  return { name: id === undefined ? taskName(taskId) : configName(taskId, id) };
}

export function readListPushConfigs(
  reader: Reader,
  wire: Wire,
): ListTaskPushNotificationConfigsRequest {
  const request: Mutable<ListTaskPushNotificationConfigsRequest> = {
    taskId: readTaskId(reader, wire),
  };
  const pageSize = optionalInteger(reader, wire.pageSize ?? wire.page_size, 'pageSize', { min: 0 });
  if (pageSize !== undefined && pageSize !== 0) request.pageSize = pageSize;
  const pageToken = optionalString(reader, wire.pageToken ?? wire.page_token, 'pageToken');
  if (pageToken !== undefined) request.pageToken = pageToken;
  return request;
}

export function encodeListPushConfigs(request: ListTaskPushNotificationConfigsRequest): object {
  const { tenant: _, taskId, ...paging } = request;
  return { parent: taskName(taskId), ...paging };
}

export function readListPushConfigsResponse(
  reader: Reader,
  wire: Wire,
): ListTaskPushNotificationConfigsResponse {
  const token = wire.nextPageToken ?? wire.next_page_token;
  return {
    configs: optionalList(reader, wire.configs, 'configs', readPushConfig) ?? [],
    nextPageToken: optionalString(reader, token, 'nextPageToken') ?? '',
  };
}

export function encodeListPushConfigsResponse(
  response: ListTaskPushNotificationConfigsResponse,
): object {
  const configs = response.configs.map(encodePushConfig);
  const { nextPageToken } = response;
  return nextPageToken === '' ? { configs } : { configs, nextPageToken };
}
