import { defineConfig } from 'vitest/config';

const alone = ['test/fuzz-bus.test.ts', 'test/replicas/**/*.test.ts'];
/** Short runs of the fault kit, by `npm run test:faults`. */
const faults = 'test/faults/**/*.test.ts';
/** Needs package registries, by `npm run test:interop`. */
const interop = 'test/interop/**/*.test.ts';

export default defineConfig({
  test: {
    environment: 'node',
    isolate: false,
    // Most files wait for processes and servers, so four at a time keep two cores busy. Those that disturb
    // others, or compare how long things take, run alone.
    projects: [
      {
        extends: true,
        test: {
          name: 'parallel',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...alone, faults, interop],
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // Agents that fail on purpose would fill the screen.
    env: { LOG_LEVEL: 'silent' },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is awaited comes late on a busy machine, and is no failure for that.
    expect: { poll: { timeout: 20_000 } },
    // Servers that tests started may take their time to let go.
    teardownTimeout: 60_000,
    setupFiles: ['./test/support/property-seed.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['./test/quiet-reporter.ts'],
  },
});
