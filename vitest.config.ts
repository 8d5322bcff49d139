import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    environment: 'node',
    isolate: false,
    fileParallelism: false,
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
