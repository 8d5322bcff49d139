import { enumName } from '../../decode/scalars.ts';
import { type Role, roles, type TaskState, taskStates } from '../../model.ts';

/** The names of the states in 0.3 JSON-RPC, in the order of their numbers. */
const stateNames = [
  'unknown',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
] as const;

const statesByName = new Map<unknown, TaskState>([
  ...taskStates.map((state, index) => [stateNames[index], state] as const),
  ...taskStates.map((state) => [state, state] as const),
  // The 0.3 proto has two Ls where the JSON-RPC form, and all of 1.x, have one.
  ['TASK_STATE_CANCELLED', 'TASK_STATE_CANCELED'],
  ['cancelled', 'TASK_STATE_CANCELED'],
]);

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both lists have the order of the proto
const namesByState = Object.fromEntries(
  taskStates.map((state, index) => [state, stateNames[index]]),
) as Record<TaskState, (typeof stateNames)[number]>;

/** A state by its name in either 0.3 form, or by its number. */
export function stateOf(value: unknown): TaskState | undefined {
  return typeof value === 'number' ? taskStates[value] : statesByName.get(value);
}

export function stateName(state: TaskState): string {
  return namesByState[state];
}

export function roleOf(value: unknown): Role | undefined {
  if (value === 'user') return 'ROLE_USER';
  if (value === 'agent') return 'ROLE_AGENT';
  return enumName(value, roles);
}

export function roleName(role: Role): string {
  return role === 'ROLE_AGENT' ? 'agent' : 'user';
}
