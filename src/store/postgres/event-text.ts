import type { Json, Task } from '../../protocol/index.ts';
import { type TaskIds, toLine } from '../event-rows.ts';
import { pack, unpack } from '../phrases.ts';

/**
 * JSON text does not contain these characters. The database function `without_names` writes them, too.
 */
const taskMark = '\u0001';
const contextMark = '\u0002';

/** The text of a new task in its first event, with the ids of the task and its context only once. */
export function taskText(ids: TaskIds, task: Json<Task>): string {
  const text = toLine(task);
  const { taskId, contextId } = membersOf(ids);
  // Views for older versions read the ids there.
  const head = `{"id":${JSON.stringify(ids.id)},${contextId}`;
  if (!text.startsWith(head)) return pack(text);
  const rest = text
    .slice(head.length)
    .replaceAll(taskId, taskMark)
    .replaceAll(contextId, contextMark);
  return pack(head + rest);
}

/** The text of a row of the log, with the ids that the stored text omits. */
export function withNames(ids: TaskIds, stored: string): string {
  const { taskId, contextId } = membersOf(ids);
  return unpack(stored)
    .replaceAll(taskMark, () => taskId)
    .replaceAll(contextMark, () => contextId);
}

function membersOf(ids: TaskIds): { readonly taskId: string; readonly contextId: string } {
  return {
    taskId: `"taskId":"${ids.id}"`,
    contextId: `"contextId":"${ids.contextId}"`,
  };
}
