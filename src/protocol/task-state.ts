import type { TaskState } from './model.ts';

/**
 * Whether a state is terminal: a task in a terminal state never changes again.
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
 * Whether a state is interrupted: the task waits for the caller's next message.
 * @example isInterrupted('TASK_STATE_INPUT_REQUIRED') // true
 */
export function isInterrupted(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
}
