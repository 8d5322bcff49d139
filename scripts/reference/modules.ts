import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const source = join(import.meta.dirname, '../../src');
const specifiers = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
const start = '<!-- module graph: npm run reference -->';
const end = '<!-- end of the module graph -->';

/** The modules that the sources of each module import, without tests and their support. */
export function moduleImports(): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  for (const file of globSync('*/**/*.ts', { cwd: source }).toSorted()) {
    if (/\.test\.|\.contract\.|[/\\]testing[/\\]/.test(file)) continue;
    const from = file.split(sep)[0] ?? '';
    const targets = imports.get(from) ?? new Set();
    imports.set(from, targets);
    for (const [, specifier = ''] of readFileSync(join(source, file), 'utf8').matchAll(
      specifiers,
    )) {
      const to = relative(source, join(source, dirname(file), specifier)).split(sep)[0] ?? '';
      if (to !== from && to !== '..') targets.add(to);
    }
  }
  return imports;
}

/** The arrows that no chain of other arrows implies: with all arrows, the graph would be unreadable. */
function essential(imports: ReadonlyMap<string, ReadonlySet<string>>): [string, string][] {
  const reaches = (from: string, to: string): boolean =>
    [...(imports.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  return [...imports].flatMap(([from, targets]) =>
    [...targets]
      .filter((to) => ![...targets].some((other) => other !== to && reaches(other, to)))
      .toSorted()
      .map((to): [string, string] => [from, to]),
  );
}

/** Replaces the module graph in the text of ARCHITECTURE.md by that of the current imports. */
export function withModuleGraph(text: string): string {
  const [head, rest = ''] = text.split(start);
  const [, tail] = rest.split(end);
  if (head === undefined || tail === undefined)
    throw new Error(`ARCHITECTURE.md has no "${start}" and "${end}".`);
  const arrows = essential(moduleImports()).map(([from, to]) => `  ${from} --> ${to}`);
  const graph = ['```mermaid', 'graph TD', ...arrows, '```'].join('\n');
  return `${head}${start}\n\n${graph}\n\n${end}${tail}`;
}
