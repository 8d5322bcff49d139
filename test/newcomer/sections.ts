import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf, fileOf } from './markdown.ts';

/**
 * Does what a README says with blocks that show one section of a file of the project: replaces the section.
 * Returns the names of the files.
 */
export function writeSections(readme: string, directory: string): readonly string[] {
  const shown = blocksOf(readme).filter(({ language }) => language === 'yaml');
  return shown.map((block) => {
    const name = fileOf(block) ?? '';
    const file = join(directory, name);
    const [section = ''] = /^\w+:/m.exec(block.body) ?? [];
    const before = readFileSync(file, 'utf8');
    const after = before.replace(new RegExp(`^${section}.*\n(?: .*\n)*`, 'm'), block.body);
    if (after === before) throw new Error(`${name} has no section ${section}`);
    writeFileSync(file, after);
    return name;
  });
}
