import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const MAX_DEPTH = 4;

/** The folders below a folder, or the folder itself, that have a domain and flows. */
export function findProjects(folder: string, depth = 0): readonly string[] {
  const has = (name: string) => existsSync(join(folder, name));
  if ((has('domain.yml') || has('domain')) && has('data')) return [folder];
  if (depth === MAX_DEPTH) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name))
    .flatMap(({ name }) => findProjects(join(folder, name), depth + 1));
}
