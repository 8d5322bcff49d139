import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Source } from '../../config/index.ts';
import { type Part, type ProjectParts, readInside } from './project-folder.ts';
import type { TarEntry } from './tar.ts';

/**
 * What of a project goes into a package: everything that makes the assistant what it is.
 * endpoints.yml and credentials.yml belong to where it runs and stay there.
 */
export function toEntries(
  parts: ProjectParts,
  files: ReadonlyMap<string, string>,
): readonly TarEntry[] {
  const entry = (path: string, text: string) => ({ path, content: Buffer.from(text, 'utf8') });
  return [
    ...(parts.config === undefined ? [] : [entry('config.yml', parts.config.text)]),
    ...parts.domain.map(({ name, text }) => entry(`domain/${name}`, text)),
    ...parts.data.map(({ name, text }) => entry(`data/${name}`, text)),
    ...parts.subAgents.map(({ name, text }) => entry(`sub_agents/${name}/config.yml`, text)),
    ...[...files].map(([path, text]) => entry(`files/${encodeURIComponent(path)}`, text)),
  ].sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** The parts of a packed project; problems in them are reported under `package:path`. */
export function fromEntries(
  entries: readonly TarEntry[],
  file: string,
  outside: Pick<ProjectParts, 'name' | 'directory' | 'endpoints' | 'credentials'>,
): ProjectParts {
  const texts = new Map(
    entries.map(({ path, content }) => [path, Buffer.from(content).toString('utf8')]),
  );
  const under = (folder: string): readonly Part[] =>
    [...texts].flatMap(([path, text]) =>
      path.startsWith(`${folder}/`)
        ? [{ file: `${file}:${path}`, name: path.slice(folder.length + 1), text }]
        : [],
    );
  const config = texts.get('config.yml');
  const source: Source | undefined =
    config === undefined ? undefined : { file: `${file}:config.yml`, text: config };
  return {
    ...outside,
    config: source,
    domain: under('domain'),
    data: under('data'),
    subAgents: under('sub_agents').map((part) => ({
      ...part,
      name: part.name.replace(/\/config\.yml$/, ''),
    })),
    // Code is not packed.
    subAgentsDirectory: join(outside.directory, 'sub_agents'),
    // What only endpoints.yml refers to lies where endpoints.yml does.
    file: async (path, problems) =>
      texts.get(`files/${encodeURIComponent(path)}`) ??
      readInside(outside.directory, path, problems),
  };
}

/**
 * SHA-256 over paths and contents, in hex. Neither the order of the files nor their times nor the
 * line endings of an editor change it.
 */
export function fingerprint(entries: readonly TarEntry[]): string {
  const hash = createHash('sha256');
  const sorted = [...entries].sort((left, right) => (left.path < right.path ? -1 : 1));
  for (const { path, content } of sorted) {
    const text = Buffer.from(content)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n');
    // Lengths in front keep two files from ever reading like one.
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(text)}:${text}`);
  }
  return hash.digest('hex');
}
