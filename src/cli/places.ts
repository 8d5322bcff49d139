import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  loadPacked,
  loadProject,
  type LoadedProject,
  type ProjectPlaces,
} from '../assistant/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { PlaceOptions } from './commands/options.ts';
import { usage } from './usage.ts';

/** The paths of the parts of a project, from the command line. */
export function placesOf(directory: string, options: PlaceOptions): ProjectPlaces {
  if (!isFolder(directory)) throw noFolder(directory);
  const { config, domain, data, endpoints, credentials, subAgents } = options;
  return { directory, config, domain, data, endpoints, credentials, subAgents };
}

/** The same, for a project that must exist. */
export function projectPlacesOf(directory: string, options: PlaceOptions): ProjectPlaces {
  const places = placesOf(directory, options);
  const isNamed = options.domain !== undefined || options.data !== undefined;
  const usual = ['config.yml', 'config.yaml', 'domain.yml', 'domain.yaml', 'domain', 'data'];
  if (isNamed || usual.some((name) => existsSync(join(directory, name)))) return places;
  throw usage(
    `${directory === '.' ? 'this folder' : directory} is not an assistant project: it has neither domain.yml nor data/; name another folder, or create a project with "legate init"`,
  );
}

function noFolder(path: string): LegateError {
  const isFile = existsSync(path);
  return usage(
    isFile
      ? `${path} is a file; name the folder of a project`
      : `no such folder: ${path}; name the folder of a project`,
  );
}

/** The project of a folder, or of a packed model with the endpoints of the folder. */
export async function loadFrom(
  directory: string,
  options: PlaceOptions & { readonly model?: string },
): Promise<LoadedProject> {
  const file = modelFile(options.model);
  if (file === undefined) return loadProject(projectPlacesOf(directory, options), process.env);
  const places = placesOf(directory, options);
  const usual = join(directory, 'endpoints.yml');
  const endpoints = places.endpoints ?? (existsSync(usual) ? usual : undefined);
  return loadPacked(file, { directory, endpoints }, process.env);
}

/** The packed model: the file itself, or the newest of a folder. */
export function modelFile(path: string | undefined): string | undefined {
  if (path === undefined || !isFolder(path)) return path;
  const models = readdirSync(path)
    .filter((name) => name.endsWith('.tar.gz'))
    .map((name) => ({ path: join(path, name), time: statSync(join(path, name)).mtimeMs }))
    .sort((left, right) => left.time - right.time || (left.path < right.path ? -1 : 1));
  const newest = models.at(-1)?.path;
  if (newest !== undefined) return newest;
  throw usage(`there is no model in ${path}; create one with "legate train --out ${path}"`);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
