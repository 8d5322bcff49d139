import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { blocksOf } from '../newcomer/markdown.ts';

const root = join(import.meta.dirname, '../..');

test('every YAML and JSON of the pages can be read', () => {
  const broken: string[] = [];
  let count = 0;
  for (const page of globSync('{README.md,docs/**/*.md}', { cwd: root }).sort()) {
    for (const { language, body } of blocksOf(readFileSync(join(root, page), 'utf8'))) {
      if (language !== 'yaml' && language !== 'json') continue;
      count += 1;
      const documents = parseAllDocuments(body);
      const errors = [documents].flat().flatMap((document) => document.errors);
      for (const { message } of errors) broken.push(`${page}: ${message}`);
    }
  }
  expect(count).toBeGreaterThan(10);
  expect(broken).toEqual([]);
});
