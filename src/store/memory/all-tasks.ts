import type { TaskPage, TaskQuery } from '../contract.ts';
import { compare, isBefore } from './owner-tasks.ts';
import { type TaskEntry, toRecord } from './task-entry.ts';

/** A page of the tasks of all owners. They are sorted each time, for it is seldom asked for. */
export function pageOfAll(tasks: Iterable<TaskEntry>, query: TaskQuery): TaskPage {
  const { contextId, state, statusTimeFrom, after, limit } = query;
  const matches = [...tasks].filter(
    (task) =>
      (contextId === undefined || task.contextId === contextId) &&
      (state === undefined || task.state === state) &&
      (statusTimeFrom === undefined || task.statusTime >= statusTimeFrom),
  );
  const left = after === undefined ? matches : matches.filter((task) => isBefore(task, after));
  const page = left.toSorted(compare).reverse().slice(0, limit);
  return { records: page.map(toRecord), total: matches.length, more: left.length > limit };
}
