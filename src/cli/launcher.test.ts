/** `bin/legate.cjs`: starts the command under Node 24, whatever Node was asked to. */
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryDirectory } from '../../test/support/stores.ts';

const launcher = join(import.meta.dirname, '../../bin/legate.cjs');
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let shim: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  shim = join(directory.path, 'shim.cjs');
  // As the launcher sees it under an old Node; what it starts does not load this file.
  await writeFile(
    shim,
    `Object.defineProperty(process, 'version', { value: 'v18.0.0' });
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.0.0' } });
`,
  );
});
afterAll(() => directory[Symbol.asyncDispose]());

function run(...args: string[]) {
  // Without these no other folder is looked into for packages.
  const env = { ...process.env, NODE_PATH: '', HOME: directory.path };
  return spawnSync(process.execPath, args, { encoding: 'utf8', env, timeout: 60_000 });
}

test('an old Node starts the command again under the Node that comes along', () => {
  const { status, stdout, stderr } = run('-r', shim, launcher, '--version');
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: `${packageJson.version}\n`,
    stderr: '',
  });
});

test('the exit code of the command is that of the launcher', () => {
  const plain = run(launcher, 'no-such-command');
  const again = run('-r', shim, launcher, 'no-such-command');
  expect(plain.status).toBeGreaterThan(0);
  expect({ status: again.status, stderr: again.stderr }).toEqual({
    status: plain.status,
    stderr: plain.stderr,
  });
});

test('an old Node without the one that comes along is told what is needed', async () => {
  await mkdir(join(directory.path, 'bin'));
  const alone = join(directory.path, 'bin', 'legate.cjs');
  await copyFile(launcher, alone);
  const { status, stdout, stderr } = run('-r', shim, alone, '--version');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('needs Node 24');
  expect(stderr).toContain('v18.0.0');
});
