import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('every snippet of the guide to sub agents stands in the file that it names', async () => {
  const guide = await readFile(join(root, 'docs/guides/sub-agents.md'), 'utf8');
  const snippets = [...guide.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm)];
  expect(snippets.length).toBeGreaterThan(4);
  for (const [, file = '', text = ''] of snippets) {
    expect(await readFile(join(root, file), 'utf8'), file).toContain(text);
  }
});
