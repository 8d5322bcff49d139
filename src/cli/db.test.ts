import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { postgres } from '../../test/support/postgres.ts';
import { agentModule } from './testing.contract.ts';

const command = join(import.meta.dirname, '../../bin/legate.cjs');

test('db status and db migrate show and migrate the schema', async () => {
  const url = await (await postgres()).database();
  const db = (...args: string[]) =>
    execFileSync(process.execPath, [command, 'db', ...args], { encoding: 'utf8' });
  expect(db('status', url)).toMatch(/^schema version 0 of \d+\npending: 0001/);
  const other = await (await postgres()).database();
  const migrated = JSON.parse(db('migrate', other, '--json')) as { readonly latest: number };
  expect(migrated).toEqual({
    current: migrated.latest,
    latest: expect.any(Number) as number,
    applied: expect.arrayContaining([expect.stringMatching(/^0001/)]) as string[],
  });
  expect(db('migrate', url)).toMatch(/applied: 0001.*\n(.*\n)*schema version \d+: up to date\n$/);
  expect(db('status', url)).toMatch(/^schema version (\d+) of \1\n$/);
});

test('peers list does not migrate the schema', async () => {
  const url = await (await postgres()).database();
  await using folder = await projectFolder({ 'agent.ts': agentModule('desk') });
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [command, ...args], { encoding: 'utf8', cwd: folder.directory });
  const { status, stderr } = run('peers', 'list', 'agent.ts', '--store', url);
  expect(status).not.toBe(0);
  expect(stderr).toContain('legate db migrate');
  expect(run('db', 'status', url).stdout).toContain('schema version 0 of');
});

test('without an address the command says what to do, and fails', () => {
  const { status, stderr } = spawnSync(process.execPath, [command, 'db', 'status'], {
    encoding: 'utf8',
    env: { ...process.env, DATABASE_URL: '' },
  });
  expect([status, stderr]).toEqual([2, expect.stringContaining('Set DATABASE_URL')]);
});
