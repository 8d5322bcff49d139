import { defineConfig } from 'vitest/config';
import { legate } from './vitest.config.ts';

/** What takes too long for every change: `npm run ci:full`. Files run one after the other. */
export default defineConfig({
  resolve: { alias: legate },
  test: {
    environment: 'node',
    include: ['**/*.full.test.ts'],
    exclude: ['node_modules/**', 'dist/**'],
    fileParallelism: false,
    env: { LOG_LEVEL: 'silent' },
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 30_000,
    teardownTimeout: 60_000,
    setupFiles: ['./test/support/property-seed.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['./test/quiet-reporter.ts'],
  },
});
