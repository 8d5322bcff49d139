import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, isAbsolute, join, relative, resolve } from 'node:path';
import type { Problems, Source } from '../../config/index.ts';
import { errorCode } from '../../protocol/index.ts';
import type { TextDocument } from '../../search/index.ts';
import { readDocuments } from '../search/documents.ts';

/** Bytes; larger files are errors. */
const maximumSize = 16_000_000;
const maximumFiles = 10_000;
const maximumDepth = 20;

/**
 * The paths of a project's parts. Parts without a path are read from `directory`.
 * @example
 * const places: ProjectPlaces = {
 *   directory: 'bank',
 *   data: ['bank/data', 'shared/flows'], // relative to the working directory, not to `directory`
 * };
 */
export interface ProjectPlaces {
  readonly directory: string;
  /** @default 'config.yml' */
  readonly config?: string | undefined;
  /** A file or a folder. @default 'domain.yml' and 'domain' */
  readonly domain?: string | undefined;
  /** Files or folders. @default 'data' */
  readonly data?: string | readonly string[] | undefined;
  /** @default 'endpoints.yml' */
  readonly endpoints?: string | undefined;
  /** @default 'credentials.yml' */
  readonly credentials?: string | undefined;
  /** A folder with one folder for each agent. @default 'sub_agents' */
  readonly subAgents?: string | undefined;
}

/** A text with its name in a package. */
export interface Part extends Source {
  /** The path relative to the root of its kind, with forward slashes. */
  readonly name: string;
}

/** The texts of a project, from a folder or from a package. */
export interface ProjectParts {
  /** The name of the folder. */
  readonly name: string;
  readonly directory: string;
  readonly config: Source | undefined;
  readonly domain: readonly Part[];
  readonly data: readonly Part[];
  readonly endpoints: Source | undefined;
  readonly credentials: Source | undefined;
  /** The `name` of each part is the name of the agent's folder. */
  readonly subAgents: readonly Part[];
  /** The parent of the agents' folders. */
  readonly subAgentsDirectory: string;
  /** Reads the documents of a folder, for search. */
  documents(source: string, problems: Problems): Promise<readonly TextDocument[]>;
  /** Reads another file of the project; undefined if it doesn't exist. */
  file(path: string, problems: Problems): Promise<string | undefined>;
}

/** Reads a project folder. Explicit paths that don't exist are errors. */
export async function readFolder(places: ProjectPlaces, problems: Problems): Promise<ProjectParts> {
  const folder = new Folder(problems);
  const { directory } = places;
  const inside = (name: string) => join(directory, name);
  const domain =
    places.domain === undefined
      ? [...(await folder.optional(inside('domain.yml'))), ...(await folder.tree(inside('domain')))]
      : await folder.required(places.domain);
  const data =
    places.data === undefined
      ? await folder.tree(inside('data'))
      : (await Promise.all([places.data].flat().map((path) => folder.required(path)))).flat();
  if (domain.length === 0) folder.miss(inside('domain.yml'), 'there is no domain');
  const single = async (given: string | undefined, name: string) =>
    given === undefined
      ? (await folder.optional(inside(name)))[0]
      : (await folder.required(given))[0];
  const agents = places.subAgents ?? inside('sub_agents');
  if (places.subAgents !== undefined) await folder.required(agents, 'folder');
  return {
    name: basename(resolve(directory)),
    directory,
    config: await single(places.config, 'config.yml'),
    domain: unique(domain),
    data: unique(data),
    endpoints: await single(places.endpoints, 'endpoints.yml'),
    credentials: await single(places.credentials, 'credentials.yml'),
    subAgents: await folder.agents(agents),
    subAgentsDirectory: agents,
    documents: (source, problems) => readDocuments(directory, source, problems),
    file: (path, problems) => {
      const ofAgent = places.subAgents !== undefined && path.startsWith('sub_agents/');
      return ofAgent
        ? readInside(agents, path.slice('sub_agents/'.length), problems)
        : readInside(directory, path, problems);
    },
  };
}

/** Reads a file, which must exist if a path is given. */
export async function readSource(
  path: string | undefined,
  problems: Problems,
): Promise<Source | undefined> {
  return path === undefined ? undefined : (await new Folder(problems).required(path))[0];
}

class Folder {
  readonly #problems: Problems;
  #count = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  miss(file: string, message: string, hint?: string): void {
    const place = { position: { file, line: 1, column: 1 }, path: '' };
    this.#problems.error(place, message, { hint });
  }

  /** Reads a file if it exists. */
  async optional(path: string): Promise<readonly Part[]> {
    const info = await stat(path).catch(() => undefined);
    return info?.isFile() === true ? this.#read(path, basename(path), info.size) : [];
  }

  /** Reads a file or the files of a folder, which must exist. */
  async required(path: string, what: 'file' | 'folder' = 'file'): Promise<readonly Part[]> {
    const info = await stat(path).catch(() => undefined);
    if (info?.isFile() === true && what === 'file') {
      return this.#read(path, basename(path), info.size);
    }
    if (info?.isDirectory() === true) return what === 'folder' ? [] : this.tree(path);
    this.miss(path, 'does not exist');
    return [];
  }

  /** Reads all YAML files below a folder, ordered by name; none if the folder doesn't exist. */
  async tree(root: string): Promise<readonly Part[]> {
    const parts: Part[] = [];
    for (const path of await this.#walk(root, 0)) {
      const { size } = await stat(path);
      parts.push(...(await this.#read(path, relative(root, path).replaceAll('\\', '/'), size)));
    }
    return parts;
  }

  /** Reads the config.yml of each sub agent's folder. */
  async agents(root: string): Promise<readonly Part[]> {
    const parts: Part[] = [];
    for (const name of await names(root)) {
      const info = await stat(join(root, name)).catch(() => undefined);
      if (info?.isDirectory() !== true) continue;
      const [config] = await this.optional(join(root, name, 'config.yml'));
      if (config !== undefined) parts.push({ ...config, name });
      // Python caches and shared modules start with two underscores; they are not sub agents.
      else if (!name.startsWith('__')) {
        const position = { file: join(root, name), line: 1, column: 1 };
        this.#problems.warn({ position, path: '' }, 'has no config.yml: it is not a sub agent');
      }
    }
    return parts;
  }

  async #walk(folder: string, depth: number): Promise<readonly string[]> {
    if (depth > maximumDepth) {
      this.miss(folder, 'nested too deeply');
      return [];
    }
    const found: string[] = [];
    for (const name of await names(folder)) {
      const path = join(folder, name);
      const info = await stat(path).catch(() => undefined);
      if (info?.isDirectory() === true) found.push(...(await this.#walk(path, depth + 1)));
      else if (info?.isFile() === true && /\.ya?ml$/i.test(name)) found.push(path);
    }
    return found;
  }

  async #read(path: string, name: string, size: number): Promise<readonly Part[]> {
    this.#count += 1;
    if (this.#count > maximumFiles) {
      if (this.#count === maximumFiles + 1) this.miss(path, `more than ${maximumFiles} files`);
      return [];
    }
    if (size > maximumSize) {
      this.miss(path, `larger than ${maximumSize} bytes`, 'split the file');
      return [];
    }
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      this.miss(path, `cannot be read: ${errorCode(error) ?? 'unknown'}`);
    });
    return text === undefined ? [] : [{ file: path, name, text }];
  }
}

/** Finds a module of the project. Rasa's format uses dots (`my.agent`), Legate uses paths (`./agent.ts`). */
export function findModule(named: string, folders: readonly string[]): string | undefined {
  const asPath = /[/\\]|\.[tj]s$/.test(named) ? named : named.replaceAll('.', '/');
  return folders
    .flatMap((folder) =>
      ['', '.ts', '/index.ts', '.js', '/index.js'].map((end) => resolve(folder, asPath + end)),
    )
    .find((path) => /\.[tj]s$/.test(path) && existsSync(path));
}

/** The names in a folder without hidden files and node_modules. */
async function names(folder: string): Promise<readonly string[]> {
  const all = await readdir(folder).catch(() => [] as string[]);
  return all.filter((name) => !name.startsWith('.') && name !== 'node_modules').sort();
}

/** Reads a file inside of a folder. Files outside can't be packed with the project, so they can't be used. */
export async function readInside(
  directory: string,
  path: string,
  problems: Problems,
): Promise<string | undefined> {
  const full = resolve(directory, path);
  const way = relative(resolve(directory), full);
  if (way.startsWith('..') || isAbsolute(way)) return undefined;
  return (await new Folder(problems).optional(full))[0]?.text;
}

/** Makes names unique: files of several folders can have the same name. */
function unique(parts: readonly Part[]): readonly Part[] {
  const seen = new Set<string>();
  return parts.map((part) => {
    let { name } = part;
    for (let count = 2; seen.has(name); count += 1) name = `${count}/${part.name}`;
    seen.add(name);
    return { ...part, name };
  });
}
