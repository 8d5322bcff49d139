import type { Cluster, Replica } from '../replicas/cluster.ts';
import { runReplicas } from './run.ts';
import type { Scenario } from './scenario.ts';

const minute = 60_000;
const startShiftsMs = [0, minute, -minute];

/**
 * Replicas whose wall clocks are a minute apart, and jump while turns run for longer than it takes to
 * look for dead replicas. No replica dies, so no turn may run twice.
 */
export const clockSkew: Scenario = (options) => {
  const shifts = new Map<Replica, number>();
  return runReplicas(options, {
    clockShiftsMs: startShiftsMs,
    talk: { count: 24, longestPauseMs: 1_500 },
    faults: ({ cluster, random }) => {
      const set = (clockShiftMs: number): void => {
        const replica = random.pick(cluster.alive);
        shifts.set(replica, clockShiftMs);
        replica.tell({ clockShiftMs });
      };
      return {
        jump: { weight: 4, cause: async () => set(random.between(-minute, minute)) },
        'leap of an hour': { cause: async () => set(random.pick([60 * minute, -60 * minute])) },
        'set right': { cause: async () => set(0) },
      };
    },
    check: async ({ cluster }) => [
      ...cluster.began
        .filter(({ attempt }) => attempt > 1)
        .map(({ messageId, attempt }) => `${messageId} ran again, attempt ${attempt}`),
      ...(await unnoticed(cluster, shifts)),
    ],
  });
};

/** Replicas whose `/ready` does not say how wrong their clock is. */
async function unnoticed(cluster: Cluster, shifts: Map<Replica, number>): Promise<string[]> {
  const problems: string[] = [];
  for (const replica of cluster.alive) {
    const shift = shifts.get(replica);
    if (shift === undefined) continue;
    const response = await fetch(`${replica.url}/ready`);
    const { clockSkewMs = 0 } = (await response.json()) as { readonly clockSkewMs?: number };
    const isShown = Math.abs(shift - clockSkewMs) < 1_500;
    if (!response.ok || !isShown) {
      problems.push(
        `/ready says ${response.status}, ${clockSkewMs} ms, of a clock ${shift} ms ahead`,
      );
    }
  }
  return problems;
}
