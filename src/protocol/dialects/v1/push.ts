import { isObject, optionalObject, type Reader } from '../../decode/reader.ts';
import {
  optionalId,
  optionalInteger,
  optionalString,
  requiredId,
  requiredString,
} from '../../decode/scalars.ts';
import { type FieldReader, list, object, orElse } from '../../decode/table.ts';
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model.ts';
import type {
  DeleteTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
} from '../../request-model.ts';

const authentication = object<AuthenticationInfo>({
  scheme: requiredString,
  credentials: optionalString,
});

export const readPushConfig = object<TaskPushNotificationConfig>({
  url: requiredString,
  tenant: optionalId,
  id: optionalId,
  taskId: optionalId,
  token: optionalString,
  authentication: (reader, value, field) =>
    optionalObject(reader, unlessEmpty(value), field, authentication),
});

/** Some peers write an unset message as `{}`. */
export function unlessEmpty(value: unknown): unknown {
  const isEmpty = isObject(value) && Object.keys(value).length === 0;
  return isEmpty ? undefined : value;
}

/** Also for requests that read a configuration: 1.x requires the id there, too. */
export const readPushConfigId = object<DeleteTaskPushNotificationConfigRequest>({
  taskId: requiredId,
  id: requiredId,
  tenant: optionalId,
});

/** The protocol doesn't track whether the size is set, so 0 is unset. */
function pageSize(reader: Reader, value: unknown, field: string): number | undefined {
  return optionalInteger(reader, value, field, { min: 0 }) || undefined;
}

export const paging = { pageSize, pageToken: optionalString };

export const readListPushConfigs = object<ListTaskPushNotificationConfigsRequest>({
  taskId: requiredId,
  tenant: optionalId,
  ...paging,
});

export function listPushConfigsResponse(
  configs: FieldReader<readonly TaskPushNotificationConfig[] | undefined>,
) {
  return object<ListTaskPushNotificationConfigsResponse>({
    configs: orElse(configs, []),
    nextPageToken: orElse(optionalString, ''),
  });
}

export const readListPushConfigsResponse = listPushConfigsResponse(list(readPushConfig));
