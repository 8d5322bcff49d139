import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ProjectPlaces } from '../assistant/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { PlaceOptions } from './commands/options.ts';

/** Where the parts of a project are, as the command line says it. */
export function placesOf(directory: string, options: PlaceOptions): ProjectPlaces {
  if (!isFolder(directory)) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `there is no folder ${directory}; name the folder of a project`,
    );
  }
  const { config, domain, data, endpoints, credentials, subAgents } = options;
  return { directory, config, domain, data, endpoints, credentials, subAgents };
}

/** The packed model that is meant: the file itself, or the newest of a folder. */
export function modelFile(path: string | undefined): string | undefined {
  if (path === undefined || !isFolder(path)) return path;
  const models = readdirSync(path)
    .filter((name) => name.endsWith('.tar.gz'))
    .map((name) => join(path, name))
    .sort(
      (left, right) => statSync(left).mtimeMs - statSync(right).mtimeMs || (left < right ? -1 : 1),
    );
  const newest = models.at(-1);
  if (newest !== undefined) return newest;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `there is no model in ${path}; make one with "legate train --out ${path}"`,
  );
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
