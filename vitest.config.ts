import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/support/slowest-first.ts';

const alone = ['test/fuzz-bus.test.ts', 'test/replicas/**/*.test.ts'];
/**
 * OpenTelemetry is global in a process: a test that fails with the SDK on would leave it to the files after
 * it. These run in processes of their own.
 */
const isolated = [
  'test/telemetry/**/*.test.ts',
  'src/telemetry/telemetry.test.ts',
  'src/http/metrics-endpoint.test.ts',
  'test/security/no-denials.test.ts',
];
/** Short runs of the fault kit, by `npm run test:faults`. */
const faults = 'test/faults/**/*.test.ts';
/** Needs package registries, by `npm run test:interop`. */
const interop = 'test/interop/**/*.test.ts';
/** Takes long, by `npm run test:full`. */
const full = '**/*.full.test.ts';

/** The bank imports `legate` as other projects do; tests run it on the sources. */
export const legate = [
  { find: /^legate$/, replacement: `${import.meta.dirname}/src/index.ts` },
  { find: /^legate\/([a-z]+)$/, replacement: `${import.meta.dirname}/src/$1/index.ts` },
];

export default defineConfig({
  resolve: { alias: legate },
  test: {
    environment: 'node',
    isolate: false,
    sequence: { sequencer: SlowestFirst },
    // Most files wait for processes and servers, so four at a time keep two cores busy. Those that disturb
    // others, or compare how long things take, run alone.
    projects: [
      {
        extends: true,
        test: {
          name: 'parallel',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...alone, ...isolated, faults, interop, full],
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          exclude: [full],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: isolated,
          exclude: [full],
          isolate: true,
          maxWorkers: 2,
          testTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
    // Agents that fail on purpose would fill the screen.
    env: { LOG_LEVEL: 'silent' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // On a busy machine, expected changes take longer.
    expect: { poll: { timeout: 20_000 } },
    // Servers of tests may take long to shut down.
    teardownTimeout: 60_000,
    setupFiles: ['./test/support/property-seed.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['./test/quiet-reporter.ts'],
  },
});
