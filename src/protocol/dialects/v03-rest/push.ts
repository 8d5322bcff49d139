import { isObject, type Reader, type Wire } from '../../decode/reader.ts';
import { isUnset, optionalId, requiredId } from '../../decode/scalars.ts';
import { list, object } from '../../decode/table.ts';
import type { TaskPushNotificationConfig } from '../../model.ts';
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
} from '../../request-model.ts';
import { listPushConfigsResponse, paging } from '../v1/push.ts';
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

/** Reads plain ids, in the form of JSON-RPC or of the request's path. */
function readByIds<T>(wire: Wire, reader: Reader, read: (reader: Reader, wire: Wire) => T): T {
  const taskId = wire.taskId ?? wire.task_id;
  if (isUnset(taskId)) return read(reader, wire);
  return read(reader, { id: taskId, pushNotificationConfigId: wire.id });
}

export function encodeConfigName(request: GetTaskPushNotificationConfigRequest): object {
  const { taskId, id } = request;
  return { name: id === undefined ? taskName(taskId) : configName(taskId, id) };
}

const readPaging =
  object<Omit<ListTaskPushNotificationConfigsRequest, 'taskId' | 'tenant'>>(paging);

export function readListPushConfigs(
  reader: Reader,
  wire: Wire,
): ListTaskPushNotificationConfigsRequest {
  return { taskId: readTaskId(reader, wire), ...readPaging(reader, wire) };
}

export const readListPushConfigsResponse = listPushConfigsResponse(list(readPushConfig));
