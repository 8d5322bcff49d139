import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BuildOptions,
  isPackage,
  loadPacked,
  loadProject,
  type Project,
  type LoadedProject,
  type ProjectPlaces,
} from '../assistant/index.ts';
import { grpcBinding } from '../grpc/index.ts';
import type { ProjectFileOptions } from './commands/options.ts';
import { usage } from './usage.ts';

/** The paths of the parts of a project, from the command line. */
export function projectPaths(directory: string, options: ProjectFileOptions): ProjectPlaces {
  if (!isFolder(directory)) {
    const problem = existsSync(directory)
      ? `${directory} is a file`
      : `no such folder: ${directory}`;
    throw usage(`${problem}; name the folder of a project`);
  }
  const { config, domain, data, endpoints, credentials, subAgents } = options;
  return { directory, config, domain, data, endpoints, credentials, subAgents };
}

/** The files and folders of an assistant that are read only at the start. */
export function projectFiles(
  { directory, files, config, endpoints, subAgentsDirectory }: Project,
  places: Partial<ProjectPlaces> = {},
): readonly string[] {
  const inside = (name: string): string => join(directory, name);
  const { source } = config.search ?? {};
  const { actionsModule } = endpoints.actionEndpoint ?? {};
  const all = [
    places.config ?? inside('config.yml'),
    ...(places.domain === undefined ? [inside('domain.yml'), inside('domain')] : [places.domain]),
    ...[places.data ?? inside('data')].flat(),
    places.endpoints ?? inside('endpoints.yml'),
    places.credentials ?? inside('credentials.yml'),
    subAgentsDirectory,
    ...['actions', 'actions.ts', 'actions.js', actionsModule ?? 'actions'].map(inside),
    ...[...files.keys()].map(inside),
    ...(source === undefined ? [] : [inside(source)]),
  ];
  return [...new Set(all)];
}

/** Like `projectPaths`, for a project that must exist. */
export function existingProjectPaths(
  directory: string,
  options: ProjectFileOptions,
): ProjectPlaces {
  const paths = projectPaths(directory, options);
  const isNamed = options.domain !== undefined || options.data !== undefined;
  const standard = ['config.yml', 'config.yaml', 'domain.yml', 'domain.yaml', 'domain', 'data'];
  if (isNamed || standard.some((name) => existsSync(join(directory, name)))) return paths;
  throw usage(
    `${directory === '.' ? 'this folder' : directory} is not an assistant project: it has neither domain.yml nor data/; name another folder, or create a project with "legate init"`,
  );
}

/** Loads the project of a folder, or a packed model with the endpoints of the folder. */
export async function loadFrom(
  directory: string,
  options: ProjectFileOptions & { readonly model?: string },
): Promise<LoadedProject> {
  const file = modelFile(options.model, directory, options);
  if (file === undefined) return loadProject(existingProjectPaths(directory, options), process.env);
  const paths = projectPaths(directory, options);
  const standard = join(directory, 'endpoints.yml');
  const endpoints = paths.endpoints ?? (existsSync(standard) ? standard : undefined);
  return loadPacked(file, { directory, endpoints }, process.env);
}

/**
 * The packed model: the file itself, or the newest model in a folder. A folder without models, such as
 * `-m models` before `legate train`, means the unpacked project, except in production.
 */
export function modelFile(
  path: string | undefined,
  directory: string,
  options: ProjectFileOptions,
): string | undefined {
  if (path === undefined || path.endsWith('.tar.gz')) return path;
  const files = isFolder(path) ? readdirSync(path) : [];
  const models = files
    .filter((name) => name.endsWith('.tar.gz'))
    .map((name) => ({ path: join(path, name), time: statSync(join(path, name)).mtimeMs }))
    .filter((model) => isPackage(model.path))
    .sort((left, right) => left.time - right.time || (left.path < right.path ? -1 : 1));
  const newest = models.at(-1)?.path;
  if (newest !== undefined) return newest;
  const reason = `there is no model in ${path}; create one with "legate train --out ${path}"`;
  if (process.env['NODE_ENV'] === 'production') throw usage(reason);
  existingProjectPaths(directory, options);
  console.error(`legate: ${reason}. The project is used as it is`);
  return undefined;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The bindings beside HTTP for calls to sub agents, limited by `outbound`. gRPC is loaded on the first call. */
export const callBindings: NonNullable<BuildOptions['bindings']> = (policy, tls) => [
  grpcBinding({ policy, tls }),
];
