import type { Replica } from '../replicas/cluster.ts';
import { runReplicas } from './run.ts';
import type { Scenario } from './scenarios.ts';

const minute = 60_000;

/**
 * Replicas whose wall clocks are a minute apart, and jump while turns run for longer than it takes to
 * look for dead replicas. No replica dies, so no turn may run twice.
 */
export const clockSkew: Scenario = (options) =>
  runReplicas(options, {
    clockShiftsMs: [0, minute, -minute],
    talk: { count: 24, longestPauseMs: 1_500 },
    faults: ({ cluster, random }) => {
      const set = (replica: Replica, clockShiftMs: number) => replica.tell({ clockShiftMs });
      return {
        jump: {
          weight: 4,
          cause: async () => set(random.pick(cluster.alive), random.between(-minute, minute)),
        },
        'leap of an hour': {
          cause: async () =>
            set(random.pick(cluster.alive), random.pick([60 * minute, -60 * minute])),
        },
        'set right': { cause: async () => set(random.pick(cluster.alive), 0) },
      };
    },
    check: ({ cluster }) =>
      cluster.began
        .filter(({ attempt }) => attempt > 1)
        .map(({ messageId, attempt }) => `${messageId} ran again, attempt ${attempt}`),
  });
