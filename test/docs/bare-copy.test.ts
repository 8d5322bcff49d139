/** The example of the README, copied to an empty folder: nothing is installed there, and nothing is set. */
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/stores.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

test(
  'a bare copy of examples/bank passes its tests with an empty environment, whatever node is on the PATH',
  { timeout: 300_000 },
  async () => {
    await using folder = await temporaryDirectory();
    const bank = join(folder.path, 'bank');
    await cp(join(root, 'examples/bank'), bank, {
      recursive: true,
      filter: (path) => !path.includes('.legate') && !path.includes('node_modules'),
    });
    const bin = join(folder.path, 'bin');
    await mkdir(bin);
    // Stands in for an older Node.
    await writeFile(join(bin, 'node'), '#!/bin/sh\necho "an older Node" >&2\nexit 9\n');
    await chmod(join(bin, 'node'), 0o755);
    await symlink('/bin/sh', join(bin, 'sh'));
    const { stdout, stderr } = await run(
      process.execPath,
      [join(root, 'bin/legate.cjs'), 'test', 'e2e', '.'],
      { cwd: bank, env: { PATH: bin, HOME: folder.path }, timeout: 280_000 },
    );
    expect(stdout + stderr).toMatch(/44 passed/);
  },
);
