import { basename } from 'node:path';
import {
  type Assistant,
  buildAssistant,
  type BuildOptions,
  loadPacked,
  loadProject,
  type Project,
  type ProjectPlaces,
} from '../../assistant/index.ts';
import { LegateError } from '../../protocol/index.ts';

/** A model as it is served: a project, and the assistant made of it. */
export interface LoadedModel {
  readonly project: Project;
  readonly assistant: Assistant;
  /** The packed file, or the folder. */
  readonly file: string;
}

export interface ModelSource {
  /** A packed model; without it the project folder is read. */
  readonly file?: string;
  readonly places: ProjectPlaces;
}

/** Reads a model and makes it ready; every mistake in it is told at once. */
export async function loadModel(
  source: ModelSource,
  environment: NodeJS.ProcessEnv,
  options: BuildOptions,
): Promise<LoadedModel> {
  const { file, places } = source;
  const { directory, endpoints, credentials } = places;
  const { project, problems } =
    file === undefined
      ? await loadProject(places, environment)
      : await loadPacked(
          file,
          {
            directory,
            ...(endpoints !== undefined && { endpoints }),
            ...(credentials !== undefined && { credentials }),
          },
          environment,
        );
  problems.throwIfErrors();
  for (const problem of problems.warnings) {
    options.logger?.warn({ path: problem.path, at: problem.position }, problem.message);
  }
  const assistant = await buildAssistant(project, { environment, ...options });
  return { project, assistant, file: file ?? directory };
}

/** The version that the card shows: the packed file's name, or the content's fingerprint. */
export function versionOf({ file, project }: LoadedModel): string {
  return file.endsWith('.tar.gz') ? basename(file, '.tar.gz') : project.modelId || '1.0.0';
}

/**
 * The model of the moment. Turns that began with one end with it; the next turn takes the new one.
 */
export class ModelHolder {
  #model: LoadedModel | undefined;

  get current(): LoadedModel | undefined {
    return this.#model;
  }

  set current(model: LoadedModel | undefined) {
    this.#model = model;
  }

  /** For doors that need one. */
  require(): LoadedModel {
    if (this.#model !== undefined) return this.#model;
    throw new LegateError('UNAVAILABLE', 'no model is loaded; load one with PUT /model', {
      retryAfter: 5,
    });
  }
}
