import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildAssistant,
  type BuildOptions,
  loadPacked,
  loadProject,
  type Project,
  type ProjectPlaces,
} from '../../assistant/index.ts';
import { formatProblem } from '../../config/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { LoadedModel } from './model-holder.ts';

export interface ModelSource {
  /** A packed model; undefined to read the project folder. */
  readonly file: string | undefined;
  readonly places: ProjectPlaces;
}

/** A model that was read and found to be without errors, but cannot talk yet. */
export interface ReadModel {
  readonly project: Project;
  readonly packed: string | undefined;
}

/** Reads a model; every mistake in it is told at once. */
export async function readModel(
  { file, places }: ModelSource,
  environment: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<ReadModel> {
  const { project, problems } =
    file === undefined
      ? await loadProject(places, environment)
      : await loadPacked(file, besideModel(places), environment);
  problems.throwIfErrors();
  for (const problem of problems.nonFatal) {
    logger.warn({ problem: formatProblem(problem) }, 'project.warning');
  }
  return { project, packed: file };
}

/** Makes a model ready to talk: its models, actions and whatever else it calls. */
export async function makeReady(
  { project, packed }: ReadModel,
  options: BuildOptions,
): Promise<LoadedModel> {
  return { project, packed, assistant: await buildAssistant(project, options) };
}

/** A package has no endpoints and no credentials of its own: they are those of the place. */
function besideModel({ directory, endpoints, credentials }: ProjectPlaces): {
  directory: string;
  endpoints: string | undefined;
  credentials: string | undefined;
} {
  const usual = (name: string): string | undefined => {
    const path = join(directory, name);
    return existsSync(path) ? path : undefined;
  };
  return {
    directory,
    endpoints: endpoints ?? usual('endpoints.yml'),
    credentials: credentials ?? usual('credentials.yml'),
  };
}
