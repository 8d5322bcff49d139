import { z } from 'zod';
import type { RecordStore } from '../../store/index.ts';
import type { Step } from './step.ts';
import { stepRecords } from './step-log.ts';

/**
 * The steps of one attempt of a turn, in the order of their starts.
 * @example const failed = ({ steps }: TurnSteps) => steps.filter(({ state }) => state === 'failed');
 */
export interface TurnSteps {
  /** The message that the turn answers. */
  readonly messageId: string;
  /** 1 for the first run; more if the turn ran again after its process died. */
  readonly attempt: number;
  readonly steps: readonly Step[];
}

/** Maximum steps of one task; further ones are not read. */
const maxSteps = 5_000;
const stepKey = z.tuple([z.string(), z.string(), z.coerce.number(), z.coerce.number()]);

/**
 * Reads the stored steps of a task, oldest turn first; of a running turn, the steps so far. `isOver`:
 * no turn of the task is running, so a step without an end was interrupted.
 * @example const turns = await readSteps(store.records, { taskId: task.id, isOver: true });
 */
export async function readSteps(
  records: RecordStore,
  { taskId, isOver }: { readonly taskId: string; readonly isOver: boolean },
): Promise<readonly TurnSteps[]> {
  const prefix = `${JSON.stringify([taskId]).slice(0, -1)},`;
  const turns = new Map<string, { messageId: string; attempt: number; steps: Step[] }>();
  for await (const { key, value } of stepRecords(records).list(prefix, { limit: maxSteps })) {
    const [, messageId, attempt] = stepKey.parse(JSON.parse(key));
    const name = JSON.stringify([messageId, attempt]);
    const turn = turns.get(name) ?? { messageId, attempt, steps: [] };
    turn.steps.push(value);
    turns.set(name, turn);
  }
  const ordered = [...turns.values()].toSorted((one, other) => startOf(one) - startOf(other));
  return ordered.map((turn, index) =>
    isOver || index < ordered.length - 1 ? { ...turn, steps: turn.steps.map(interrupted) } : turn,
  );
}

function startOf({ steps: [first] }: TurnSteps): number {
  return first?.startedAt ?? 0;
}

/** Marks a step that no process runs any more. */
function interrupted(step: Step): Step {
  return step.state === 'running' ? { ...step, state: 'interrupted' } : step;
}
