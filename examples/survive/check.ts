import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const cwd = mkdtempSync(join(tmpdir(), 'legate-survive-'));
const shop = join(import.meta.dirname, 'shop.ts');
const run = (...args: string[]) =>
  spawnSync(process.execPath, [shop, ...args], { cwd, encoding: 'utf8', timeout: 60_000 });

try {
  const killed = run('order');
  assert.equal(killed.signal, 'SIGKILL');
  const again = run();
  assert.deepEqual([again.status, again.stdout], [0, 'Shipped.\n'], again.stderr);
  const ledger = readFileSync(join(cwd, 'ledger.txt'), 'utf8');
  assert.equal(ledger, 'charged 40 francs\nshipping\nshipping\n');
} finally {
  rmSync(cwd, { recursive: true, force: true });
}
console.log('survive: a process was killed in the middle of a turn, and the next one finished it');
