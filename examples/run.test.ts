/** `npm run examples`: an example whose check fails makes the command fail. */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryDirectory } from '../test/support/stores.ts';

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeAll(async () => {
  directory = await temporaryDirectory();
  const checks = {
    bad: `throw new Error('the check failed');`,
    good: `console.log('good: works');`,
    killed: `process.kill(process.pid, 'SIGKILL');`,
    later: `console.log('later: works');`,
  };
  for (const [name, text] of Object.entries(checks)) {
    await mkdir(join(directory.path, name));
    await writeFile(join(directory.path, name, 'check.ts'), text);
  }
});
afterAll(() => directory[Symbol.asyncDispose]());

function run(...names: string[]) {
  const args = [join(import.meta.dirname, 'run.ts'), '--folder', directory.path, ...names];
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
}

test('examples whose checks hold are named one by one, and the command succeeds', () => {
  const { status, stdout, stderr } = run('good', 'later');
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: 'good: works\nlater: works\n',
    stderr: '',
  });
});

test('one whose check fails makes the command fail, and the others run all the same', () => {
  const { status, stdout, stderr } = run();
  expect({ status, stdout }).toEqual({ status: 1, stdout: 'good: works\nlater: works\n' });
  expect(stderr).toContain('the check failed');
  expect(stderr).toContain('example bad: failed (exit 1)');
  expect(stderr).toContain('example killed: failed');
});

test('an example that is not there is refused before any runs', () => {
  const { status, stdout, stderr } = run('good', 'nobody');
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain('no example named nobody; there are: bad, good, killed, later');
});
