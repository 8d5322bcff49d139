import { pause } from './injection.ts';
import { runReplicas } from './run.ts';
import type { Scenario } from './scenario.ts';

/** The database is stopped in its tracks, sometimes for longer than a lease. */
export const frozenDatabase: Scenario = (options) =>
  runReplicas(options, {
    faults: ({ server, random }) => ({
      freeze: {
        cause: async () => {
          const thaw = server.freeze();
          try {
            await pause(random.between(200, 5_000));
          } finally {
            thaw();
          }
        },
      },
    }),
  });

/** Every answer of the database takes 50 ms longer, now and then much longer. */
export const slowDatabase: Scenario = (options) =>
  runReplicas(options, {
    faults: ({ network, random }) => {
      network.latencyMs = 50;
      return {
        'slow spell': {
          cause: async () => {
            network.latencyMs = random.between(100, 1_000);
            await pause(random.between(200, 2_000));
            network.latencyMs = 50;
          },
        },
      };
    },
  });

/** Connections to the database stay open and carry nothing any more, and so do new ones for a while. */
export const halfOpen: Scenario = (options) =>
  runReplicas(options, {
    settings: { statementTimeoutMs: 1_000 },
    faults: ({ network, random }) => ({
      stall: {
        cause: async () => {
          const recover = network.stall();
          await pause(random.between(200, 3_000));
          recover();
          // Until the replicas have noticed, and gone on.
          await pause(random.between(1_000, 6_000));
        },
      },
    }),
  });
