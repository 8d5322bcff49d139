import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const here = import.meta.dirname;
/** The most lines of each program. Types are checked with those of all tests. */
const programs = {
  'plain-agent': 6,
  confirmation: 9,
  workflow: 8,
  remote: 4,
  'mcp-client': 4,
  'mcp-server': 7,
};

test.each(Object.entries(programs))('%s takes at most %i lines', async (name, most) => {
  const lines = (await readFile(join(here, `${name}.ts`), 'utf8')).split('\n');
  expect(lines.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(most);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
});

test('the programs are formatted', async () => {
  const files = Object.keys(programs).map((name) => join(here, `${name}.ts`));
  const oxfmt = join(here, '../../node_modules/.bin/oxfmt');
  await expect(run(oxfmt, ['--check', ...files])).resolves.toBeDefined();
});

test('the programs run', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'legate-programs-'));
  const { stdout } = await run(process.execPath, [join(here, 'run-programs.ts')], {
    cwd: directory,
  });
  await rm(directory, { recursive: true });
  expect(JSON.parse(stdout)).toEqual({
    'plain-agent': 'Hello, Ada!',
    remote: 'Hello, Ada!',
    confirmation: 'May I run pay? (yes or no)\n  to: Ada\n  amount: 94 | Ada has her 94 francs.',
    workflow: expect.stringMatching(/^TRAINS TO ROME\s+HOTELS IN ROME$/),
    'mcp-client': 'Bob was greeted.',
    'mcp-server': 'Bob was greeted.',
  });
}, 120_000);
