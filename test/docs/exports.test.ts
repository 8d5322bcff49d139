import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { entryFiles, type Exported, exportsOf } from '../../scripts/reference/exports.ts';

const root = join(import.meta.dirname, '../..');

function where({ name, kind, file }: Exported): string {
  return `${kind} ${name} in ${relative(root, file)}`;
}

test.each(entryFiles)('everything that %s exports says what it is', (entryFile) => {
  const all = exportsOf(join(root, 'src', entryFile));
  expect(all.length).toBeGreaterThan(10);
  expect(all.filter(({ comment }) => comment === undefined).map(where)).toEqual([]);
});

test.each(entryFiles)('everything that %s exports is shown at work', (entryFile) => {
  const all = exportsOf(join(root, 'src', entryFile));
  expect(all.filter(({ comment }) => !comment?.includes('@example')).map(where)).toEqual([]);
});

test('every entryFile of the package leads somewhere', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<
      Record<string, { readonly default?: string; readonly types?: string }>
    >;
  };
  for (const [entryFile, { default: code = '', types = '' }] of Object.entries(exports)) {
    if (entryFile === './package.json') continue;
    const source = code.replace('./dist/', 'src/').replace(/\.js$/, '.ts');
    expect(exportsOf(join(root, source)).length, entryFile).toBeGreaterThan(0);
    expect(types).toBe(code.replace(/\.js$/, '.d.ts'));
  }
});
