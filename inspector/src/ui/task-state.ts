import type { TaskState } from '../../../src/protocol/index.ts';

/** `TASK_STATE_INPUT_REQUIRED` as `input required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', ' ');
}
