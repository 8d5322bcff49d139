import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const pages = globSync('{*.md,docs/**/*.md,examples/**/*.md}', { cwd: root }).sort();

/** As GitHub makes anchors of headings. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  return new Set(
    Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-'),
    ),
  );
}

function deadLinksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  const links = Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target);
  return links.filter((target) => {
    if (/^[a-z]+:/.test(target)) return !URL.canParse(target);
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor);
  });
}

test.each(pages)('%s has no dead link', (page) => {
  expect(deadLinksOf(page)).toEqual([]);
});

test('every file that ARCHITECTURE.md names is there', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const named = Array.from(
    text.matchAll(/`((?:[\w-]+\/)+(?:[\w-]+\.\w[\w.]*)?)`/g),
    ([, path = '']) => path,
  );
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter((path) =>
    ['', 'src', 'src/cli', 'src/protocol'].every((folder) => !existsSync(join(root, folder, path))),
  );
  expect(missing).toEqual([]);
});

test('the README lists every guide and every page of the reference', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const listed = globSync('docs/{guides,reference}/*.md', { cwd: root });
  expect(listed.filter((page) => !text.includes(`](${page})`))).toEqual([]);
});

test('every page is reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = join(dirname(page), target);
      const isFolder = !path.endsWith('.md');
      for (const one of isFolder ? globSync(`${path}/*.md`, { cwd: root }) : [path])
        reached.add(one);
    }
  }
  expect(pages.filter((page) => !reached.has(page))).toEqual([]);
});

test('there are pages to look at', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/tutorial.md']));
});
