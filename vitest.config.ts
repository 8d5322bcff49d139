import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    isolate: false,
    // One after the other, since many look at how long something takes beside something else. Those of
    // the commands mostly wait for programs to start, and share the machine.
    projects: [
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: ['src/cli/**'],
          fileParallelism: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'commands',
          include: ['src/cli/**/*.test.ts'],
          maxWorkers: 2,
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
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['./test/quiet-reporter.ts'],
  },
});
