import type { ComponentChildren } from 'preact';
import type { TaskState } from '../../../src/protocol/index.ts';

/** The meaning of a colour. */
export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad' | 'info';

export function Badge(props: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${props.tone ?? 'neutral'}`}>{props.children}</span>;
}

const stateTones: Readonly<Record<TaskState, Tone>> = {
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

export function StateBadge({ state }: { readonly state: TaskState }) {
  return <Badge tone={stateTones[state]}>{stateName(state)}</Badge>;
}

/** `TASK_STATE_INPUT_REQUIRED` as `input required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', ' ');
}
