import { defineConfig } from 'vitest/config';

/** Short runs of every scenario of the fault kit, one after the other. */
export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/faults/**/*.test.ts'],
    fileParallelism: false,
    env: { LOG_LEVEL: 'silent' },
    expect: { poll: { timeout: 20_000 } },
    teardownTimeout: 60_000,
    setupFiles: ['./test/support/property-seed.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['./test/quiet-reporter.ts'],
  },
});
