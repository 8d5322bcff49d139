/** `bin/legate.cjs`: starts the command, or says which Node it needs. */
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryDirectory } from '../../test/support/stores.ts';

const launcher = join(import.meta.dirname, '../../bin/legate.cjs');
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
/** The launcher as it is installed: beside compiled code, without sources. */
let installed: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  installed = join(directory.path, 'bin', 'legate.cjs');
  await mkdir(join(directory.path, 'bin'));
  await copyFile(launcher, installed);
  await mkdir(join(directory.path, 'dist/cli'), { recursive: true });
  await writeFile(join(directory.path, 'package.json'), '{"type": "module"}');
  await writeFile(
    join(directory.path, 'dist/cli/main.js'),
    `export function main(args) {
  process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning');
  process.emitWarning('Something else is experimental', 'ExperimentalWarning');
  console.log(...args);
}
`,
  );
});
afterAll(() => directory[Symbol.asyncDispose]());

/** What the launcher sees under that Node; what it starts does not load this file. */
async function asNode(version: string): Promise<readonly string[]> {
  const shim = join(directory.path, `node-${version}.cjs`);
  await writeFile(
    shim,
    `Object.defineProperty(process, 'version', { value: 'v${version}' });
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
`,
  );
  return ['-r', shim];
}

function run(...args: readonly string[]) {
  // Without these no other folder is looked into for packages.
  const env = { ...process.env, NODE_PATH: '', HOME: directory.path };
  return spawnSync(process.execPath, args, { encoding: 'utf8', env, timeout: 60_000 });
}

test('an old Node in a checkout starts the command under the Node that npm ci has installed', async () => {
  const { status, stdout, stderr } = run(...(await asNode('18.0.0')), launcher, '--version');
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: `${packageJson.version}\n`,
    stderr: '',
  });
});

test('the exit code of the command is that of the launcher', async () => {
  const plain = run(launcher, 'no-such-command');
  const again = run(...(await asNode('18.0.0')), launcher, 'no-such-command');
  expect(plain.status).toBeGreaterThan(0);
  expect({ status: again.status, stderr: again.stderr }).toEqual({
    status: plain.status,
    stderr: plain.stderr,
  });
});

test.each(['18.0.0', '20.19.5', '22.17.1'])(
  'the installed command refuses Node %s in one message',
  async (version) => {
    const { status, stdout, stderr } = run(...(await asNode(version)), installed, '--version');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(`needs Node ${packageJson.engines.node.replace('>=', '')} or newer`);
    expect(stderr).toContain(`v${version}`);
    expect(stderr.trim().split('\n')).toHaveLength(2);
  },
);

test.each(['22.18.0', '23.6.0', '24.0.0'])(
  'the installed command starts under Node %s',
  async (version) => {
    const { status, stdout } = run(...(await asNode(version)), installed, 'list', '--json');
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'list --json\n' });
  },
);

test('the warning that SQLite is experimental is not shown, and others are', () => {
  const { stderr } = run(installed);
  expect(stderr).not.toContain('SQLite');
  expect(stderr).toContain('Something else is experimental');
});
