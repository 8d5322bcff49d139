import { invalidParams } from '../../errors.ts';
import type { DecodeOptions } from '../../decode/options.ts';
import {
  optionalList,
  optionalObject,
  Reader,
  requiredObject,
  type Wire,
} from '../../decode/reader.ts';
import {
  optionalId,
  optionalString,
  optionalStrings,
  requiredId,
  requiredString,
} from '../../decode/scalars.ts';
import { object } from '../../decode/table.ts';
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model.ts';
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsResponse,
} from '../../request-model.ts';
import { unlessEmpty } from '../v1/push.ts';

/** The inner object, `PushNotificationConfig`. */
export const readPushDetails = object<Omit<TaskPushNotificationConfig, 'tenant' | 'taskId'>>({
  url: requiredString,
  id: optionalId,
  token: optionalString,
  authentication: (reader, value, field) =>
    optionalObject(reader, unlessEmpty(value), field, readAuthentication),
});

/** 1.x has one scheme: the first is used. */
function readAuthentication(reader: Reader, wire: Wire): AuthenticationInfo | undefined {
  const schemes = optionalStrings(reader, wire.schemes, 'schemes');
  const credentials = optionalString(reader, wire.credentials, 'credentials');
  const scheme = schemes?.[0];
  if (scheme === undefined || scheme === '') {
    if (schemes === undefined || credentials !== undefined) {
      reader.fail('schemes', 'must name at least one scheme');
    }
    return undefined;
  }
  return credentials === undefined ? { scheme } : { scheme, credentials };
}

export function encodePushDetails(config: TaskPushNotificationConfig): object {
  const { tenant: _tenant, taskId: _taskId, authentication, ...details } = config;
  if (authentication === undefined) return details;
  const { scheme, ...rest } = authentication;
  return { ...details, authentication: { schemes: [scheme], ...rest } };
}

export function readPushConfig(reader: Reader, wire: Wire): TaskPushNotificationConfig {
  const details = wire.pushNotificationConfig ?? wire.push_notification_config;
  const taskId = optionalId(reader, wire.taskId ?? wire.task_id, 'taskId');
  const config = requiredObject(reader, details, 'pushNotificationConfig', readPushDetails);
  return taskId === undefined ? config : { ...config, taskId };
}

export function encodePushConfig(config: TaskPushNotificationConfig): object {
  return { taskId: config.taskId ?? '', pushNotificationConfig: encodePushDetails(config) };
}

export function readGetPushConfig(
  reader: Reader,
  wire: Wire,
): GetTaskPushNotificationConfigRequest {
  const value = wire.pushNotificationConfigId ?? wire.push_notification_config_id;
  const taskId = requiredId(reader, wire.id, 'id');
  const id = optionalId(reader, value, 'pushNotificationConfigId');
  return id === undefined ? { taskId } : { taskId, id };
}

export function readDeletePushConfig(
  reader: Reader,
  wire: Wire,
): DeleteTaskPushNotificationConfigRequest {
  const value = wire.pushNotificationConfigId ?? wire.push_notification_config_id;
  const taskId = requiredId(reader, wire.id, 'id');
  return { taskId, id: requiredId(reader, value, 'pushNotificationConfigId') };
}

export function encodePushConfigId(request: GetTaskPushNotificationConfigRequest): object {
  const { taskId, id } = request;
  return id === undefined ? { id: taskId } : { id: taskId, pushNotificationConfigId: id };
}

/** Reads a bare array, which `decode` rejects. */
export function decodePushConfigs(
  wire: unknown,
  options?: DecodeOptions,
): ListTaskPushNotificationConfigsResponse {
  if (!Array.isArray(wire)) throw invalidParams({ field: '', description: 'must be an array' });
  const reader = new Reader(options);
  const configs = optionalList(reader, wire, '', readPushConfig) ?? [];
  reader.finish();
  return { configs, nextPageToken: '' };
}
