import { defineConfig } from 'vitest/config';

/** Official SDKs of other languages against ours; what is not installed is skipped with its reason. */
export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/interop/**/*.test.ts'],
    fileParallelism: false,
    env: { LOG_LEVEL: 'silent' },
    teardownTimeout: 60_000,
    reporters: ['./test/quiet-reporter.ts'],
  },
});
