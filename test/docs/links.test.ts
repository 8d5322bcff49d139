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

test('there are pages to look at', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/tutorial.md']));
});
