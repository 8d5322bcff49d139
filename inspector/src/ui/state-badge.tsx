import type { TaskState } from '../../../src/protocol/index.ts';
import { Badge } from './badge.tsx';
import { stateName, stateTones } from './task-state.ts';

export function StateBadge({ state }: { readonly state: TaskState }) {
  return <Badge tone={stateTones[state]}>{stateName(state)}</Badge>;
}
