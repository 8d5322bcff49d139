import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { formatProblem } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { KeyedQueue } from '../../time/index.ts';
import type { Assistant } from '../assistant.ts';
import { buildAssistant, type BuildOptions } from '../build/build-assistant.ts';
import { loadProject } from '../project/load-project.ts';
import type { Project } from '../project/model.ts';
import { loadPacked } from '../project/pack.ts';
import type { ProjectPlaces } from '../project/project-folder.ts';

/** A model as it is served: a project, and the assistant made of it. */
export interface LoadedModel {
  readonly project: Project;
  readonly assistant: Assistant;
  /** The file it was read from; undefined for a folder. */
  readonly packed: string | undefined;
}

/** The version that the card shows: the packed file's name, or the content's fingerprint. */
export function versionOf({ packed, project }: LoadedModel): string {
  return packed === undefined ? project.modelId || '1.0.0' : basename(packed, '.tar.gz');
}

/** There is nothing that could answer, until a model is loaded. */
export class NoModelError extends LegateError {
  constructor() {
    super('UNAVAILABLE', 'no model is loaded; load one with PUT /model', { retryAfter: 5 });
  }
}

/** For turns that do not end although they were told to, in milliseconds. */
const graceMs = 2_000;

type Listener = (model: LoadedModel | undefined) => Promise<void>;

/**
 * The model of the moment. Turns that began with one end with it; the next turn takes the new one.
 * Changes are made one after the other, and one that fails leaves everything as it was.
 */
export class ModelHolder {
  #model: LoadedModel | undefined;
  #listener: Listener = async () => {};
  /** Changes, one after the other. */
  readonly #changes = new KeyedQueue();
  /** Former models whose turns have not ended. */
  readonly #leaving = new Set<Assistant>();

  get current(): LoadedModel | undefined {
    return this.#model;
  }

  /** For doors that need one. */
  require(): LoadedModel {
    if (this.#model === undefined) throw new NoModelError();
    return this.#model;
  }

  /** Called after each change, before the next one. */
  onChange(listener: Listener): void {
    this.#listener = listener;
  }

  /** Puts what `load` gives in place of the present model. */
  change(load: () => Promise<LoadedModel | undefined>): Promise<void> {
    return this.#changes.run('model', async () => {
      const former = this.#model;
      this.#model = await load();
      if (former !== undefined) this.#release(former);
      await this.#listener(this.#model);
    });
  }

  /** Lets all models go. Whoever drives their turns has ended them; those that hang are not waited for. */
  async close(): Promise<void> {
    await this.#changes.idle();
    const current = this.#model === undefined ? [] : [this.#model.assistant];
    this.#model = undefined;
    const all = [...this.#leaving, ...current];
    await Promise.all(all.map((assistant) => assistant.close({ graceMs })));
  }

  #release({ assistant }: LoadedModel): void {
    this.#leaving.add(assistant);
    void assistant.close().finally(() => this.#leaving.delete(assistant));
  }
}

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
