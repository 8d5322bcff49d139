import { execFile } from 'node:child_process';
import { stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newcomer, root } from '../../test/newcomer/packed.ts';
import { atMost, type Row } from '../row.ts';

const run = promisify(execFile);
const times = 9;

/** The installed package: its size, and the start time of its command. */
export const packaged: Row = {
  name: 'package',
  title: 'the package, as it would be published',
  async run() {
    await using packed = await newcomer();
    await run('tar', ['-xzf', packed.tarball, '-C', packed.directory]);
    const installed = join(packed.directory, 'package');
    await symlink(join(root, 'node_modules'), join(installed, 'node_modules'));
    const { size } = await stat(packed.tarball);
    const help = await quickestMs([join(installed, 'bin/legate.cjs'), '--help']);
    const bare = await quickestMs(['-e', '0']);
    return {
      notes: { 'packed, KiB': size / 1024, 'bare node, ms': bare },
      verdicts: [atMost('legate --help', help, 120, 'ms')],
    };
  },
};

/** The fastest run: other load on the machine can only slow it down. */
async function quickestMs(args: readonly string[]): Promise<number> {
  const took: number[] = [];
  for (let count = 0; count < times; count += 1) {
    const began = performance.now();
    await run(process.execPath, args);
    took.push(performance.now() - began);
  }
  return Math.min(...took);
}
