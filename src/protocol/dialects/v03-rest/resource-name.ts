import type { Reader, Wire } from '../../decode/reader.ts';
import { isUnset, optionalId, requiredId } from '../../decode/scalars.ts';

/**
 * The 0.3 proto identifies resources by name, `tasks/T` and `tasks/T/pushNotificationConfigs/C`. Bodies
 * in the JSON-RPC form have plain ids instead. The decoders accept both.
 */

const between = '/pushNotificationConfigs/';

export function taskName(taskId: string): string {
  return `tasks/${taskId}`;
}

export function configName(taskId: string, configId: string): string {
  return `tasks/${taskId}${between}${configId}`;
}

export interface ResourceName {
  readonly taskId: string;
  readonly configId: string | undefined;
}

export function readResourceName(reader: Reader, value: unknown, field: string): ResourceName {
  // The path of one method of the 0.3 proto has the typo `task/`.
  const rest = typeof value === 'string' ? /^tasks?\/([^]+)$/.exec(value)?.[1] : undefined;
  if (rest === undefined) {
    reader.fail(field, 'must be a resource name such as tasks/ID');
    return { taskId: '', configId: undefined };
  }
  const at = rest.lastIndexOf(between);
  const id = at === -1 ? rest.replace(/\/pushNotificationConfigs$/, '') : rest.slice(0, at);
  const taskId = requiredId(reader, id, field);
  return {
    taskId,
    configId: at === -1 ? undefined : optionalId(reader, rest.slice(at + between.length), field),
  };
}

/** The task id of a request, from its `name`, its `parent`, or its `id`. */
export function readTaskId(reader: Reader, wire: Wire): string {
  if (!isUnset(wire.name)) return readResourceName(reader, wire.name, 'name').taskId;
  if (!isUnset(wire.parent)) return readResourceName(reader, wire.parent, 'parent').taskId;
  return requiredId(reader, wire.id ?? wire.taskId ?? wire.task_id, 'id');
}
