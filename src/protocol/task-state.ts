import type { TaskState } from './model.ts';

/**
 * Terminal states absorb: a task that reached one never changes again.
 * @example isTerminal('TASK_STATE_COMPLETED') // true
 */
export function isTerminal(state: TaskState): boolean {
  return (
    state === 'TASK_STATE_COMPLETED' ||
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_CANCELED' ||
    state === 'TASK_STATE_REJECTED'
  );
}

/**
 * Interrupted tasks wait for their caller: the next message continues them.
 * @example isInterrupted('TASK_STATE_INPUT_REQUIRED') // true
 */
export function isInterrupted(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
}
