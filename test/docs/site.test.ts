import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { groups } from '../../site/pages.ts';

const root = join(import.meta.dirname, '../..');

test('every page is in the sidebar of the documentation site, once', () => {
  const listed = groups.flatMap(({ pages }) => pages.map(([, file]) => file));
  const written = globSync('{*.md,docs/**/*.md}', { cwd: root }).filter(
    // Decisions are listed by their folder.
    (file) => !file.startsWith('docs/decisions/'),
  );
  expect(listed.toSorted()).toEqual(written.toSorted());
});

test.each(['.', 'site'])(
  'npm ci works in %s: its lock file has every optional package',
  (folder) => {
    const lock = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<
        Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
      >;
    };
    const names = new Set(
      Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, '')),
    );
    const optional = Object.values(lock.packages).flatMap((entry) =>
      Object.keys(entry.optionalDependencies ?? {}),
    );
    expect(optional.filter((name) => !names.has(name))).toEqual([]);
  },
);
