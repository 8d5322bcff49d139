import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('every dependency has its reason', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const text = readFileSync(join(root, 'docs/decisions/2026-11-15-dependencies.md'), 'utf8');
  const rows = Array.from(text.matchAll(/^\| ([^|]+) \|/gm), ([, names = '']) => names);
  const explained = rows.flatMap((names) => names.split(', '));
  for (const name of Object.keys(dependencies)) expect(explained).toContain(name);
});
