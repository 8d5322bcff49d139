import { type Fault, pause } from './injection.ts';
import { leaseMs, runReplicas, type Setting } from './run.ts';
import type { Scenario } from './scenario.ts';

/**
 * Replicas are killed, stopped and frozen, and their database restarts and crashes. There are always
 * as many replicas as at the start.
 */
export const replicas: Scenario = (options) => runReplicas(options, { faults });

/** The same, while callers send first messages: without a context, under an `Idempotency-Key`. */
export const noContextId: Scenario = (options) =>
  runReplicas(options, { faults, talk: { manners: ['first'] } });

function faults({ cluster, server, random }: Setting): Readonly<Record<string, Fault>> {
  return {
    kill: {
      weight: 3,
      cause: async () => {
        await random.pick(cluster.alive).kill();
        await cluster.add();
      },
    },
    stop: {
      weight: 2,
      cause: async () => {
        await Promise.all([random.pick(cluster.alive).stop(), cluster.add()]);
      },
    },
    freeze: {
      weight: 2,
      cause: async () => {
        // Sometimes long enough to be taken for dead.
        const thaw = random.pick(cluster.alive).freeze();
        await pause(random.between(200, leaseMs * 2));
        thaw();
      },
    },
    restart: { cause: () => server.restart() },
    crash: { cause: () => server.restart({ kill: true }) },
  };
}
