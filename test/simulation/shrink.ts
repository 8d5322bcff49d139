import type { Plan } from './plan.ts';
import { type Result, simulate, type SimulateOptions } from './simulate.ts';

/** A plan that breaks the rule, and its outcome. */
export interface Failure {
  readonly plan: Plan;
  readonly result: Result;
}

export interface ShrinkOptions {
  /** Worlds to try at most. @default 300 */
  readonly tries?: number;
  /** Real milliseconds to spend at most. @default 30_000 */
  readonly budget?: number;
  /** How the worlds are made. */
  readonly world?: SimulateOptions;
}

/**
 * Looks for less that goes wrong in the same way: fewer faults, fewer conversations, shorter ones.
 * A world in which something is missing takes another course, so this finds a short history and not
 * the shortest.
 */
export async function shrink(failure: Failure, options: ShrinkOptions = {}): Promise<Failure> {
  const { tries = 300, budget = 30_000, world = {} } = options;
  const end = performance.now() + budget;
  let best = failure;
  let left = tries;
  const attempt = async (plan: Plan): Promise<boolean> => {
    if (left <= 0 || performance.now() > end) return false;
    left -= 1;
    const result = await simulate(plan, world);
    if (result.violation?.invariant !== best.result.violation?.invariant) return false;
    best = { plan, result };
    return true;
  };
  const hasMore = (): boolean => left > 0 && performance.now() < end;

  await attempt(upTo(best.plan, best.result.violation?.at ?? Infinity));
  for (let size = Infinity; hasMore();) {
    await fewer(
      () => best.plan.conversations,
      (conversations) => attempt({ ...best.plan, conversations }),
    );
    await fewer(
      () => best.plan.faults,
      (faults) => attempt({ ...best.plan, faults }),
    );
    await shorter(() => best.plan, attempt);
    const reached = sizeOf(best.plan);
    if (reached >= size) break;
    size = reached;
  }
  return best;
}

/** Without what begins after the rule was broken. */
function upTo(plan: Plan, time: number): Plan {
  return {
    ...plan,
    conversations: plan.conversations.filter(({ startsAt }) => startsAt <= time),
    faults: plan.faults.filter(({ at }) => at <= time),
  };
}

/** Leaves out pieces of a list, large ones first, as long as the rest still fails. */
async function fewer<T>(
  current: () => readonly T[],
  attempt: (items: readonly T[]) => Promise<boolean>,
): Promise<void> {
  for (let size = Math.ceil(current().length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < current().length;) {
      const items = current();
      const rest = [...items.slice(0, from), ...items.slice(from + size)];
      if (!(await attempt(rest))) from += size;
    }
  }
}

async function shorter(
  current: () => Plan,
  attempt: (plan: Plan) => Promise<boolean>,
): Promise<void> {
  for (let index = 0; index < current().conversations.length; index += 1) {
    for (;;) {
      const plan = current();
      const conversation = plan.conversations[index];
      if (conversation === undefined || conversation.turns <= 1) break;
      const cut = { ...conversation, turns: conversation.turns - 1 };
      const conversations = plan.conversations.with(index, cut);
      if (!(await attempt({ ...plan, conversations }))) break;
    }
  }
}

function sizeOf({ faults, conversations }: Plan): number {
  return faults.length + conversations.reduce((sum, { turns }) => sum + turns, 0);
}
