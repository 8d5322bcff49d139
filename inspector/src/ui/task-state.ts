import type { TaskState } from '../../../src/protocol/index.ts';
import type { Tone } from './tone.ts';

export const stateTones: Readonly<Record<TaskState, Tone>> = {
  TASK_STATE_UNSPECIFIED: 'neutral',
  TASK_STATE_SUBMITTED: 'info',
  TASK_STATE_WORKING: 'info',
  TASK_STATE_COMPLETED: 'good',
  TASK_STATE_FAILED: 'bad',
  TASK_STATE_CANCELED: 'neutral',
  TASK_STATE_INPUT_REQUIRED: 'warn',
  TASK_STATE_REJECTED: 'bad',
  TASK_STATE_AUTH_REQUIRED: 'warn',
};

/** `TASK_STATE_INPUT_REQUIRED` as people say it. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', ' ');
}
