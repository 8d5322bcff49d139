import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Maximum number of files in a snapshot; a project can have 10,000. */
const maxFiles = 20_000;

/**
 * Detects changes of files that a process reads only at its start. Folders include all files below them,
 * except hidden files and `node_modules`.
 * @example
 * const files = new RestartFiles(['bank/config.yml', 'bank/data']);
 * for (const { path, change } of files.changes()) console.error(`${path} ${change}`);
 */
export class RestartFiles {
  readonly #paths: readonly string[];
  /** Hashes of the contents at creation, by path. */
  readonly #before: ReadonlyMap<string, string>;

  constructor(paths: readonly string[]) {
    this.#paths = paths;
    this.#before = contentsOf(paths);
  }

  /** In the order of the paths; new files first. */
  changes(): readonly { readonly path: string; readonly change: string }[] {
    const now = contentsOf(this.#paths);
    const found = [...now].flatMap(([path, content]) => {
      const before = this.#before.get(path);
      if (before === content) return [];
      return [{ path, change: before === undefined ? 'is new' : 'has changed' }];
    });
    const gone = [...this.#before.keys()].filter((path) => !now.has(path));
    return [...found, ...gone.map((path) => ({ path, change: 'is gone' }))];
  }
}

function contentsOf(paths: readonly string[]): ReadonlyMap<string, string> {
  const contents = new Map<string, string>();
  for (const path of paths) {
    for (const file of filesAt(path)) {
      if (contents.size >= maxFiles) return contents;
      const content = hashOf(file);
      if (content !== undefined) contents.set(file, content);
    }
  }
  return contents;
}

function* filesAt(path: string): Generator<string> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) yield path;
  if (found?.isDirectory() !== true) return;
  for (const name of namesIn(path)) {
    if (!name.startsWith('.') && name !== 'node_modules') yield* filesAt(join(path, name));
  }
}

/** Empty for a removed or unreadable folder: its files count as gone. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

function hashOf(file: string): string | undefined {
  try {
    return hash('sha256', readFileSync(file), 'base64url');
  } catch {
    return undefined;
  }
}
