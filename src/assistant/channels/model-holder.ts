import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { formatProblem } from '../../config/index.ts';
import { Json, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { KeyedQueue, repeat } from '../../time/index.ts';
import type { Assistant } from '../assistant.ts';
import { buildAssistant, type BuildOptions } from '../build/build-assistant.ts';
import { loadProject, type Project } from '../project/load-project.ts';
import { loadPacked } from '../project/pack.ts';
import type { ProjectPlaces } from '../project/project-folder.ts';

/** A model that is served: a project, and the assistant built from it. */
export interface LoadedModel {
  readonly project: Project;
  readonly assistant: Assistant;
  /** The packed file; undefined for a folder. */
  readonly packed: string | undefined;
}

/** The version on the card: the name of the packed file, or the fingerprint of the content. */
export function versionOf({ packed, project }: LoadedModel): string {
  return packed === undefined ? project.modelId || '1.0.0' : basename(packed, '.tar.gz');
}

/** The error of requests that arrive before a model is loaded. */
export class NoModelError extends LegateError {
  constructor({ isLoading }: { readonly isLoading: boolean }) {
    const message = isLoading
      ? 'the assistant is starting: its model is being loaded; try again in a few seconds'
      : 'no model is loaded; load one with PUT /model';
    super('UNAVAILABLE', message, { retryAfter: 5 });
  }
}

/** Milliseconds that turns get to end after an abort. */
const graceMs = 2_000;

type Listener = (model: LoadedModel | undefined) => Promise<void>;

/**
 * Holds the current model. A turn keeps the model that it started with; the next turn uses the new
 * one. Changes are serialized. If loading fails, the current model stays.
 */
export class ModelHolder {
  #model: LoadedModel | undefined;
  #isLoading = false;
  #listener: Listener = async () => {};
  /** Serializes changes. */
  readonly #changes = new KeyedQueue();
  /** Replaced models with turns in flight. */
  readonly #leaving = new Set<Assistant>();

  get current(): LoadedModel | undefined {
    return this.#model;
  }

  /** The current model. Throws `NoModelError` without one. */
  require(): LoadedModel {
    if (this.#model === undefined) throw new NoModelError({ isLoading: this.#isLoading });
    return this.#model;
  }

  /** Sets the listener, which runs after each change and before the next one. */
  onChange(listener: Listener): void {
    this.#listener = listener;
  }

  /** Replaces the current model by the one that `load` returns. */
  change(load: () => Promise<LoadedModel | undefined>): Promise<void> {
    return this.#changes.run('model', async () => {
      const former = this.#model;
      this.#isLoading = true;
      try {
        this.#model = await load();
      } finally {
        this.#isLoading = false;
      }
      if (former !== undefined) this.#release(former);
      await this.#listener(this.#model);
    });
  }

  /** Closes all models. The engine has ended their turns; turns that hang are not awaited. */
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

/** A project that was read and validated, but not built yet. */
type ReadModel = Omit<LoadedModel, 'assistant'>;

/** Reads and validates a model; throws with all of its errors. */
export async function readModel(
  { file, places }: { readonly file: string | undefined; readonly places: ProjectPlaces },
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

/** Builds the assistant of a model: language models, actions and connections. */
export async function makeReady(
  { project, packed }: ReadModel,
  options: BuildOptions,
): Promise<LoadedModel> {
  return { project, packed, assistant: await buildAssistant(project, options) };
}

/** A package contains no endpoints and no credentials; they are read from the project folder. */
function besideModel({ directory, endpoints, credentials }: ProjectPlaces) {
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

/** Which model to serve: none, the project folder, or a packed one. */
export type ModelSource = 'none' | 'folder' | { readonly file: string };

/** The store record that asks all replicas to serve a model. */
const changeSchema = z.object({
  id: z.string(),
  wanted: z.union([z.literal('none'), z.literal('folder'), z.object({ file: z.string() })]),
});

export interface SharedModelOptions {
  readonly records: RecordStore;
  /** The fingerprint of the model that this process started with. */
  readonly base: string;
  /** Serves another model. */
  readonly serve: (wanted: ModelSource) => Promise<void>;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

const space = 'assistant-model';
/** Milliseconds between two polls of the store. */
const pollMs = 1_000;
/** Milliseconds until a failed change is retried. */
const retryMs = 30_000;

/**
 * Keeps all replicas of an assistant on the same model. The replica that changes its model writes a
 * change request to the store, and the other replicas apply it. A request only applies to processes
 * that started with the same model: replicas of a rollout with another model ignore it.
 *
 * - **following**: polls the store.
 * - **stopped**: no longer polls.
 */
export class SharedModel {
  readonly #options: SharedModelOptions;
  #polling: { stop(): void } | undefined;
  /** Serializes reading, changing and publishing the model. */
  readonly #queue = new KeyedQueue();
  /** The last change request that was applied, or that failed and is retried after `#retryAt`. */
  #lastChange: string | undefined;
  #retryAt = Infinity;

  constructor(options: SharedModelOptions) {
    this.#options = options;
  }

  /** Polls immediately, so that a new replica serves the same model as the other ones. */
  async start(): Promise<void> {
    const { scheduler, logger } = this.#options;
    const poll = (): Promise<void> => this.#queue.run('model', () => this.#poll());
    // Keep serving the current model; the next poll retries.
    const onError = (error: unknown): void =>
      logger.error({ error }, 'assistant.model_sync_failed');
    await poll().catch(onError);
    this.#polling = repeat(pollMs, poll, { timers: scheduler, onError });
  }

  async stop(): Promise<void> {
    this.#polling?.stop();
    await this.#queue.idle();
  }

  /** Serves another model and writes a change request for the other replicas. */
  change(wanted: ModelSource): Promise<void> {
    const { records, base, scheduler, serve } = this.#options;
    return this.#queue.run('model', async () => {
      await serve(wanted);
      const id = scheduler.uuid();
      const value = Json.of<JsonValue>({ id, wanted });
      await records.write([{ space, key: base, value }], scheduler.now());
      this.#lastChange = id;
    });
  }

  async #poll(): Promise<void> {
    const { records, base, scheduler, serve } = this.#options;
    const now = scheduler.now();
    const found = await records.get(space, base, now);
    const change = found && changeSchema.parse(found.value.value);
    if (change === undefined || (change.id === this.#lastChange && now < this.#retryAt)) return;
    this.#lastChange = change.id;
    this.#retryAt = now + retryMs;
    await serve(change.wanted);
    this.#retryAt = Infinity;
  }
}
