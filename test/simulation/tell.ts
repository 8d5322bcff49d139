import type { Plan } from './plan.ts';
import { shrink, type ShrinkOptions } from './shrink.ts';
import { type Result, simulate } from './simulate.ts';

/** The end of a long history tells most. */
const shownLines = 400;

/** A world in a line. */
export function describePlan(plan: Plan): string {
  const traits = Object.entries(plan.agent).map(([name, value]) => `${name}=${value}`);
  const { replicas, conversations, faults, hasBus } = plan;
  return `${replicas} replicas, ${conversations.length} conversations, ${faults.length} faults, ${hasBus ? 'with' : 'no'} bus, ${traits.join(' ')}`;
}

/** What went wrong in a world, with the shortest history found that goes wrong in the same way. */
export async function tellFailure(
  plan: Plan,
  result: Result,
  options: ShrinkOptions = {},
): Promise<string> {
  const { violation } = result;
  const smallest = await shrink({ plan, result }, options);
  const told = await simulate(smallest.plan, { ...options.world, keepsHistory: true });
  return [
    `BROKEN: ${violation?.invariant}`,
    `${violation?.detail}`,
    '',
    `the shortest history found: ${describePlan(smallest.plan)}`,
    ...smallest.plan.conversations.map((each) => `  ${JSON.stringify(each)}`),
    ...smallest.plan.faults.map((each) => `  ${JSON.stringify(each)}`),
    ...told.history.slice(-shownLines),
    `BROKEN: ${told.violation?.invariant}`,
    `${told.violation?.detail}`,
    `seed ${plan.seed}, at ${told.violation?.at.toFixed(2)}`,
  ].join('\n');
}
