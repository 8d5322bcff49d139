import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Clock } from '../../agents/index.ts';
import type { ClientBinding } from '../../client/index.ts';
import { type Environment, present } from '../../config/index.ts';
import { createModel } from '../../models/index.ts';
import type { PeerNetwork } from '../../peers/index.ts';
import type { ClientTls } from '../../net/index.ts';
import { invalidConfiguration, LegateError } from '../../protocol/index.ts';
import { guardedFetch, type UrlPolicy } from '../../push/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { Assistant } from '../assistant.ts';
import type { CommandGenerator } from '../commands/generator.ts';
import type { CallHandler } from '../executor/call-handler.ts';
import { createGenerator } from '../generators/create-generator.ts';
import type { Endpoints } from '../project/endpoints.ts';
import { withoutModelGroups } from '../project/left-out-models.ts';
import type { Project } from '../project/load-project.ts';
import { createKnowledge } from '../search/create-knowledge.ts';
import { createHandlers } from '../sub-agents/create-handlers.ts';
import { PeerHandler } from '../sub-agents/peer-handler.ts';
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
   * Handlers of `call:` steps with agents and tools. They are closed with the assistant.
   * @default handlers of the project's sub_agents and mcp_servers
   */
  readonly callHandlers?: readonly CallHandler[];
  /**
   * Further client bindings besides the two over HTTP. They get the network policy of `outbound` in
   * endpoints.yml and the TLS files of the agent. @default none
   * @example bindings: (policy, tls) => [grpcBinding({ policy, tls })]
   */
  readonly bindings?: (policy: UrlPolicy | undefined, tls?: ClientTls) => readonly ClientBinding[];
  /**
   * The agents of `peers:` in endpoints.yml, for `call:` steps that name one. A function, because peers can
   * be opened after the assistant is built. @default none
   */
  readonly peers?: () => PeerNetwork;
  readonly clock?: Clock;
  readonly random?: () => number;
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
  loaded: Project,
  options: BuildOptions = {},
): Promise<Assistant> {
  const { logger = defaultLogger, environment = process.env } = options;
  const { directory } = loaded;
  const maxSteps = positiveInteger(
    'MAX_NUMBER_OF_PREDICTIONS_CALM',
    environment['MAX_NUMBER_OF_PREDICTIONS_CALM'],
  );
  const { models, leftOut } = modelsOf(loaded, { environment, logger, directory });
  const project = withoutModelGroups(loaded, leftOut);
  const { config, endpoints, files } = project;
  const rephraser = rephraserOf(endpoints.nlg, {
    models,
    files,
    language: config.language,
    logger,
  });
  const writer =
    endpoints.nlg?.type === 'server'
      ? responseServer({ ...endpoints.nlg, directory: project.directory, logger })
      : undefined;
  const generator =
    options.generator ??
    createGenerator(config.generator, { models, files, logger, language: config.language });
  const knowledge = await createKnowledge(project, { models, environment, logger });
  const policy = outboundPolicy(endpoints.outbound);
  const fetch = policy && guardedFetch(policy);
  const bindings = options.bindings && ((tls?: ClientTls) => options.bindings?.(policy, tls) ?? []);
  const actions = options.actions ?? (await actionsOf(project, { environment, logger }));
  const callHandlers =
    options.callHandlers ??
    (await createHandlers(project, { models, logger, fetch, bindings, policy }).catch(
      async (error: unknown) => {
        await actions?.close?.();
        throw error;
      },
    ));
  const peerHandlers =
    options.peers === undefined
      ? []
      : [new PeerHandler(endpoints.peers?.wellKnown ?? [], options.peers)];
  return new Assistant({
    domain: project.domain,
    flows: project.flows,
    generator,
    ...(actions !== undefined && { actions }),
    ...(rephraser !== undefined && { rephraser }),
    ...(writer !== undefined && { writer }),
    ...(knowledge !== undefined && { knowledge }),
    // A sub agent takes precedence over a peer of the same name.
    callHandlers: [...callHandlers, ...peerHandlers],
    agentDescriptions: new Map(
      [...project.subAgents.values()].map(({ name, description }) => [name, description]),
    ),
    maxCharacters: config.generator?.maxCharacters ?? 420,
    clarifyOnMultipleStartFlows: environment['CLARIFY_ON_MULTIPLE_START_FLOWS'] === 'True',
    ...present({ maxSteps }),
    eventMetadata: { model_id: project.modelId, assistant_id: project.name },
    ...(options.clock !== undefined && { clock: options.clock }),
    ...(options.random !== undefined && { random: options.random }),
    logger,
  });
}

/** A number from the environment; undefined if the variable is unset or empty. */
function positiveInteger(name: string, written = ''): number | undefined {
  const text = written.trim();
  if (text === '') return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value;
  throw invalidConfiguration(`${name} must be a positive integer, but is ${JSON.stringify(text)}`);
}

/**
 * Creates the models of the project by group. A group that can't be created, for example without its key, is
 * left out with a warning. In production, a failing group that the project uses is an error.
 */
function modelsOf(
  project: Project,
  options: {
    readonly environment: Environment;
    readonly logger: Logger;
    readonly directory: string;
  },
): {
  readonly models: ReadonlyMap<string, LanguageModelV4>;
  readonly leftOut: ReadonlySet<string>;
} {
  const models = new Map<string, LanguageModelV4>();
  const leftOut = new Set<string>();
  const used = usedModelGroups(project);
  const isProduction = options.environment['NODE_ENV'] === 'production';
  for (const [id, group] of project.endpoints.modelGroups) {
    try {
      models.set(id, createModel(group, options));
    } catch (error) {
      if (!(error instanceof LegateError) || (used.has(id) && isProduction)) throw error;
      leftOut.add(id);
      options.logger.warn(
        { group: id, reason: error.message, ...(used.has(id) && { hint: withoutModel }) },
        'models.group_left_out',
      );
    }
  }
  return { models, leftOut };
}

const withoutModel =
  'until then, messages are read without a model and responses are sent as written; ' +
  'with NODE_ENV=production the assistant does not start without it';

/**
 * Ids of the model groups that the generator, search, its embeddings, the rephraser or a sub agent use.
 * @example const isAsked = usedModelGroups(project).has('main');
 */
export function usedModelGroups({ config, endpoints, subAgents }: Project): ReadonlySet<string> {
  const { nlg, modelGroups } = endpoints;
  const { generator, search } = config;
  // A component that names no group uses the only one.
  const only = modelGroups.size === 1 ? [...modelGroups.keys()][0] : undefined;
  const named = [
    generator && (generator.modelGroup ?? only),
    search?.modelGroup,
    search?.embeddingGroup,
    nlg?.type === 'rephrase' ? (nlg.modelGroup ?? only) : undefined,
    ...[...subAgents.values()].map((agent) =>
      agent.protocol === 'RASA' ? (agent.modelGroup ?? only) : undefined,
    ),
  ];
  return new Set(named.filter((name) => name !== undefined));
}

/** The network policy of `outbound`; undefined without such a section. */
export function outboundPolicy(rules: Endpoints['outbound']): UrlPolicy | undefined {
  return rules && { schemes: ['http', 'https'], ...rules };
}
