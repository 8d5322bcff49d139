import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, extname, join, sep } from 'node:path';

/** Folders whose files change without anybody editing them. */
const ignored = new Set(['node_modules', '.git', '.legate', 'models']);
/** Code, configuration and prompts of an assistant. */
const sources = new Set(
  ['yml', 'yaml', 'ts', 'mts', 'cts', 'js', 'mjs', 'cjs', 'py', 'jinja', 'jinja2', 'j2'].map(
    (name) => `.${name}`,
  ),
);
/** Documents for search lie in a folder; at the top, programs write their notes. */
const documents = new Set(['.md', '.txt']);

/** Watches the sources of an assistant below a folder, and never what a run writes there. */
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
 * Watches files, wherever they are, through their folders: editors replace files rather than write
 * them. A file that another program only touches has not changed.
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
      // The folder was deleted.
      watcher.on('error', () => this.#leave(folder));
      this.#folders.set(folder, watcher);
    } catch {
      // There is no such folder; the module that names it is watched, too.
    }
  }

  /** Watches only these from now on. */
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

/** Configuration that a run reads beside its module. */
export function configurationBeside(module: string): string {
  return join(dirname(module), 'endpoints.yml');
}
