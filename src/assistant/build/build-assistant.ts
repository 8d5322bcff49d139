import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Clock } from '../../agents/index.ts';
import type { ClientBinding } from '../../client/index.ts';
import type { Environment } from '../../config/index.ts';
import { createModel } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { guardedFetch, type UrlPolicy } from '../../push/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { Assistant } from '../assistant.ts';
import type { CommandGenerator } from '../commands/generator.ts';
import type { CallHandler } from '../executor/call-handler.ts';
import { createGenerator } from '../generators/create-generator.ts';
import type { Endpoints } from '../project/endpoints.ts';
import type { Project } from '../project/load-project.ts';
import { createKnowledge } from '../search/create-knowledge.ts';
import { createHandlers } from '../sub-agents/create-handlers.ts';
import { actionsOf } from './actions.ts';
import { rephraserOf, responseServer } from './nlg.ts';

/**
 * Options of an assistant besides its project.
 * @example
 * const options: BuildOptions = {
 *   clock: { now: () => Date.parse('2026-11-20T09:00:00Z') }, // "tomorrow" is always the 21st
 *   environment: { OPENAI_API_KEY: key },
 * };
 */
export interface BuildOptions {
  /**
   * For `call:` steps that lead to agents and tools; closed with the assistant.
   * @default those of the project's sub_agents and mcp_servers
   */
  readonly callHandlers?: readonly CallHandler[];
  /**
   * For calls to agents and MCP servers.
   * @default the platform's own, kept to where `outbound` of endpoints.yml lets it go
   */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * Bindings to call agents by, beside the two over HTTP; they get the network policy of `outbound` in
   * endpoints.yml. @default none
   * @example bindings: (policy) => [grpcBinding({ policy })]
   */
  readonly bindings?: (policy: UrlPolicy | undefined) => readonly ClientBinding[];
  /** Between two attempts to call an agent. @default a timer */
  readonly sleep?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newId?: () => string;
  /** @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Replaces the actions of the project, for tests. */
  readonly actions?: Awaited<ReturnType<typeof actionsOf>>;
  /** Replaces the command generator of the project, for tests. */
  readonly generator?: CommandGenerator;
  readonly logger?: Logger;
}

/**
 * Builds an assistant from a loaded project, with its models, actions and generator.
 * @example
 * const { project } = await loadProject({ directory: '.' }, process.env);
 * await using assistant = await buildAssistant(project);
 */
export async function buildAssistant(
  project: Project,
  options: BuildOptions = {},
): Promise<Assistant> {
  const { logger = defaultLogger, environment = process.env } = options;
  const { config, endpoints, files } = project;
  const models = modelsOf(project, { environment, logger });
  const rephraser = rephraserOf(endpoints.nlg, { models, files, logger });
  const writer = endpoints.nlg?.type === 'server' ? responseServer(endpoints.nlg) : undefined;
  const generator =
    options.generator ??
    createGenerator(config.generator, { models, files, logger, language: config.language });
  const knowledge = await createKnowledge(project, { models, environment, logger });
  const policy = outboundPolicy(endpoints.outbound);
  const { fetch = policy && guardedFetch(policy), sleep } = options;
  const bindings = options.bindings?.(policy);
  const actions = options.actions ?? (await actionsOf(project, { environment, logger }));
  const callHandlers =
    options.callHandlers ??
    (await createHandlers(project, { models, logger, fetch, bindings, sleep }).catch(
      async (error: unknown) => {
        await actions?.close?.();
        throw error;
      },
    ));
  return new Assistant({
    domain: project.domain,
    flows: project.flows,
    generator,
    ...(actions !== undefined && { actions }),
    ...(rephraser !== undefined && { rephraser }),
    ...(writer !== undefined && { writer }),
    ...(knowledge !== undefined && { knowledge }),
    callHandlers,
    agentDescriptions: new Map(
      [...project.subAgents.values()].map(({ name, description }) => [name, description]),
    ),
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

/**
 * The models of the project by group. A group that nothing uses and that can't be created, for instance
 * without its key, is left out with a warning.
 */
function modelsOf(
  project: Project,
  options: { readonly environment: Environment; readonly logger: Logger },
): ReadonlyMap<string, LanguageModelV4> {
  const models = new Map<string, LanguageModelV4>();
  const used = usedModelGroups(project);
  for (const [id, group] of project.endpoints.modelGroups) {
    try {
      models.set(id, createModel(group, options));
    } catch (error) {
      if (!(error instanceof LegateError) || used.has(id)) throw error;
      options.logger.warn({ group: id, reason: error.message }, 'models.group_left_out');
    }
  }
  return models;
}

/** Ids of the model groups that the generator, the search, the rephraser or a sub agent asks. */
export function usedModelGroups({ config, endpoints, subAgents }: Project): ReadonlySet<string> {
  const { nlg, modelGroups } = endpoints;
  const named = [
    config.generator?.modelGroup,
    config.search?.modelGroup,
    nlg?.type === 'rephrase' ? nlg.modelGroup : undefined,
    ...[...subAgents.values()].map((agent) =>
      agent.protocol === 'RASA' ? agent.modelGroup : undefined,
    ),
  ].filter((name) => name !== undefined);
  // The only group is asked also where none is named.
  return new Set(modelGroups.size === 1 ? [...named, ...modelGroups.keys()] : named);
}

/** The network policy of `outbound`; undefined without such a section. */
export function outboundPolicy(rules: Endpoints['outbound']): UrlPolicy | undefined {
  return rules && { schemes: ['http', 'https'], ...rules };
}
