import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('the example of the guide to sub agents says what the guide says', async () => {
  const guide = await readFile(join(root, 'docs/guides/sub-agents.md'), 'utf8');
  const [, name = '', said = ''] =
    /npm run examples -- (\w+)\n```\n\n```text\n([^`]+)```/.exec(guide) ?? [];
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, 'examples/run.ts'),
    name,
  ]);
  expect(stdout).toBe(said);
}, 60_000);

test('every snippet of the guide to sub agents stands in the file that it names', async () => {
  const guide = await readFile(join(root, 'docs/guides/sub-agents.md'), 'utf8');
  const snippets = [...guide.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm)];
  expect(snippets.length).toBeGreaterThan(4);
  for (const [, file = '', text = ''] of snippets) {
    expect(await readFile(join(root, file), 'utf8'), file).toContain(text);
  }
});
