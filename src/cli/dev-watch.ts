import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, extname, join, sep } from 'node:path';

/** Folders whose files programs change. */
const ignored = new Set(['node_modules', '.git', '.legate', 'models']);
/** Code, configuration and prompts of an assistant. */
const sources = new Set(
  ['yml', 'yaml', 'ts', 'mts', 'cts', 'js', 'mjs', 'cjs', 'py', 'jinja', 'jinja2', 'j2'].map(
    (name) => `.${name}`,
  ),
);
/** Documents for search are in subfolders; programs write files like these at the top level. */
const documents = new Set(['.md', '.txt']);

/** Watches the sources of an assistant below a folder; ignores files that a run writes. */
export function watchFolder(folder: string, onChange: (file: string) => void): { close(): void } {
  return watch(folder, { recursive: true }, (_event, file) => {
    if (file === null) return;
    const path = file.split(sep);
    const isDocument = path.length > 1 && documents.has(extname(file));
    const isSource = sources.has(extname(file)) || isDocument;
    if (isSource && !path.some((name) => ignored.has(name))) onChange(file);
  });
}

/**
 * Watches files through their folders, because editors replace files instead of writing them. An event
 * counts only if the modification time, the size or the inode of the file changed.
 */
export class FileWatch {
  readonly #onChange: (file: string) => void;
  readonly #versions = new Map<string, string>();
  readonly #folders = new Map<string, FSWatcher>();

  constructor(onChange: (file: string) => void) {
    this.#onChange = onChange;
  }

  add(file: string): void {
    if (this.#versions.has(file)) return;
    this.#versions.set(file, versionOf(file));
    const folder = dirname(file);
    if (this.#folders.has(folder)) return;
    try {
      const watcher = watch(folder, (_event, name) => this.#look(folder, name));
      // The folder was deleted, for instance.
      watcher.on('error', () => this.#leave(folder));
      this.#folders.set(folder, watcher);
    } catch {
      // The folder does not exist. The module that imports the file is watched too.
    }
  }

  /** Stops watching all other files. */
  keep(files: ReadonlySet<string>): void {
    for (const file of this.#versions.keys()) if (!files.has(file)) this.#versions.delete(file);
    const needed = new Set([...files].map((file) => dirname(file)));
    for (const folder of this.#folders.keys()) if (!needed.has(folder)) this.#leave(folder);
  }

  close(): void {
    for (const folder of this.#folders.keys()) this.#leave(folder);
  }

  #look(folder: string, name: string | null): void {
    for (const [file, version] of this.#versions) {
      if (dirname(file) !== folder || (name !== null && basename(file) !== name)) continue;
      const now = versionOf(file);
      if (now === version) continue;
      this.#versions.set(file, now);
      this.#onChange(file);
    }
  }

  #leave(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }
}

function versionOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
}

/** The configuration file that a run reads from the folder of its module. */
export function configurationBeside(module: string): string {
  return join(dirname(module), 'endpoints.yml');
}
