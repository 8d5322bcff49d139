/** Timers and listeners are cleaned up: one mechanism, `Deadline`, for everything that takes time. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../src');

/** Without comments, whose examples show what callers may write. */
const code = (file: string): string =>
  readFileSync(join(source, file), 'utf8').replace(/^\s*(?:\*|\/\/|\/\*\*).*$/gm, '');

test('nothing that serves uses AbortSignal.timeout or AbortSignal.any, which stay until their time is over', () => {
  // Commands end with their calls.
  const files = globSync('**/*.ts', { cwd: source, exclude: ['cli/**', '**/*.test.ts'] });
  const users = files.filter((file) => /AbortSignal\.(?:timeout|any)\(/.test(code(file)));
  expect(users.filter((file) => !file.includes('/testing/'))).toEqual([]);
});
