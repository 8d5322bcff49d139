import type { Clock } from '../../agents/index.ts';
import { createModels } from '../../models/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { Assistant } from '../assistant.ts';
import type { CallHandler } from '../executor/index.ts';
import { createGenerator } from '../generators/index.ts';
import type { Project } from '../project/index.ts';
import { actionsOf } from './actions.ts';
import { rephraserOf } from './rephraser.ts';

export interface BuildOptions {
  /** For `call:` steps that lead to agents and tools. @default [] */
  readonly callHandlers?: readonly CallHandler[];
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newId?: () => string;
  /** @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Replaces the actions of the project, for tests. */
  readonly actions?: Awaited<ReturnType<typeof actionsOf>>;
  readonly logger?: Logger;
}

/** A project that was loaded, as an assistant that can talk: with its models, actions and generator. */
export async function buildAssistant(
  project: Project,
  options: BuildOptions = {},
): Promise<Assistant> {
  const { logger = silentLogger, environment = process.env } = options;
  const { config, endpoints, files } = project;
  const models = createModels([...endpoints.modelGroups.values()], { environment, logger });
  const rephraser = rephraserOf(endpoints.nlg, models, files, logger);
  const actions = options.actions ?? (await actionsOf(project));
  return new Assistant({
    domain: project.domain,
    flows: project.flows,
    generator: createGenerator(config.generator, { models, files, logger }),
    ...(actions !== undefined && { actions }),
    ...(rephraser !== undefined && { rephraser }),
    callHandlers: options.callHandlers ?? [],
    maxCharacters: config.generator?.maxCharacters ?? 420,
    clarifyOnMultipleStartFlows: environment['CLARIFY_ON_MULTIPLE_START_FLOWS'] === 'True',
    maxSteps: Number(environment['MAX_NUMBER_OF_PREDICTIONS_CALM'] ?? 1_000),
    eventMetadata: { model_id: project.modelId, assistant_id: project.name },
    ...(options.clock !== undefined && { clock: options.clock }),
    ...(options.random !== undefined && { random: options.random }),
    ...(options.newId !== undefined && { newId: options.newId }),
    logger,
  });
}
