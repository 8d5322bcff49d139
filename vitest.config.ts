import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    environment: 'node',
    isolate: false,
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Servers that tests started may take their time to let go.
    teardownTimeout: 60_000,
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['./test/quiet-reporter.ts'],
  },
});
