import { isTerminal, type TaskState, taskStates } from '../protocol/index.ts';

/**
 * States of tasks in SQL are numbers, the same in every database; its table `task_states` says their
 * names. A test compares that table with this file.
 */
export function stateNumber(state: TaskState): number {
  return taskStates.indexOf(state);
}

export function stateOf(number: unknown): TaskState {
  return taskStates[Number(number)] ?? 'TASK_STATE_UNSPECIFIED';
}

/** What `task_states` holds. */
export const taskStateRows = taskStates.map((name, number) => ({
  number,
  name,
  isTerminal: isTerminal(name),
}));

/** For `state IN (...)`. */
export const terminalStates = taskStateRows
  .flatMap((row) => (row.isTerminal ? [row.number] : []))
  .join(', ');
