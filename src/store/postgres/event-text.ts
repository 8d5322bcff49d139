import type { Json, Task } from '../../protocol/index.ts';
import { type TaskIds, toLine } from '../event-rows.ts';
import { pack, unpack } from '../phrases.ts';

/** JSON text has no such characters. The function `without_names` of the database writes them, too. */
const taskMark = '\u0001';
const contextMark = '\u0002';

/** A new task as its first event has it: with the names of the task and its context once. */
export function taskText(ids: TaskIds, task: Json<Task>): string {
  const text = toLine(task);
  const { taskId, contextId } = membersOf(ids);
  // Views for older versions find the names there.
  const head = `{"id":${JSON.stringify(ids.id)},${contextId}`;
  if (!text.startsWith(head)) return pack(text);
  const rest = text
    .slice(head.length)
    .replaceAll(taskId, taskMark)
    .replaceAll(contextId, contextMark);
  return pack(head + rest);
}

/** The text of a row of the log, with the names that it is stored without. */
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
