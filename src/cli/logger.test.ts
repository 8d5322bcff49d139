import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** What a process that logs one line writes. */
function logged(LOG_FORMAT: string) {
  const program = [
    `const { createLogger } = await import(${JSON.stringify(join(root, 'src/cli/logger.ts'))});`,
    `createLogger('info').warn({ token: 'hunter2', queue: 'q' }, 'bus.connection.lost');`,
  ].join('\n');
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, LOG_FORMAT, NODE_NO_WARNINGS: '1' },
  });
}

test.each(['', 'json'])('LOG_FORMAT %j: one JSON object a line, on standard error', (format) => {
  const { stdout, stderr } = logged(format);
  expect(stdout).toBe('');
  expect(JSON.parse(stderr)).toMatchObject({
    level: 'warn',
    event: 'bus.connection.lost',
    queue: 'q',
    token: '[redacted]',
  });
});

test('LOG_FORMAT pretty: a line for people, without secrets', () => {
  const { stderr } = logged('pretty');
  expect(stderr).toMatch(/^\d\d:\d\d:\d\d warn  bus\.connection\.lost .*queue="q"\n$/);
  expect(stderr).not.toContain('hunter2');
});

test('LOG_FORMAT that there is not is refused', () => {
  const { status, stderr } = logged('xml');
  expect(status).not.toBe(0);
  expect(stderr).toContain('LOG_FORMAT must be "json" or "pretty"');
});
