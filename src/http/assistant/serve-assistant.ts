import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import {
  type A2aServer,
  assistantAgent,
  type BuildOptions,
  type ProjectPlaces,
  skillsOf,
} from '../../assistant/index.ts';
import { Authenticator, jwtVerifier } from '../../auth/index.ts';
import { type AgentCard, LegateError, readAgentCard } from '../../protocol/index.ts';
import { sealedPolicy } from '../../push/index.ts';
import type { StoreOptions } from '../../store/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { cardOf } from '../cards.ts';
import { sendJson } from '../respond.ts';
import { serve, type ServeOptions, type Serving } from '../serve.ts';
import { defaultLimits } from '../service.ts';
import { ApiAccess, type ApiAccessOptions } from './api-access.ts';
import { handleApi } from './api.ts';
import { assistantName, Conversations } from './conversations.ts';
import { checkWorkers } from './guards.ts';
import { type LoadedModel, loadModel, ModelHolder, versionOf } from './model-holder.ts';
import { handleRestChannel } from './rest-channel.ts';

export interface ServeAssistantOptions extends Pick<
  ServeOptions,
  'port' | 'host' | 'tls' | 'drainMs' | 'dangerouslyAllowUnauthenticatedRemote'
> {
  readonly places: ProjectPlaces;
  /** A packed model; without it the project folder is read. */
  readonly model?: string;
  /** Overrides `store:` of endpoints.yml. */
  readonly store?: StoreOptions;
  /** Opens the HTTP API; without it only webhooks and A2A answer. @default false */
  readonly enableApi?: boolean;
  readonly api?: ApiAccessOptions;
  readonly environment?: NodeJS.ProcessEnv;
  readonly build?: BuildOptions;
  /** Shown by `GET /version`. @default '0.1.0' */
  readonly version?: string;
  readonly logger?: Logger;
}

export interface AssistantServing extends Serving {
  readonly models: ModelHolder;
  readonly conversations: Conversations;
}

/**
 * Serves a project: A2A when endpoints.yml has an `a2a_server`, the REST channel, and the HTTP API on
 * request, all on one port. The card is a placeholder until the model is loaded, and follows reloads.
 */
export async function serveAssistant(options: ServeAssistantOptions): Promise<AssistantServing> {
  const { logger = silentLogger, environment = process.env, places, version = '0.1.0' } = options;
  const build: BuildOptions = { logger, ...options.build };
  const models = new ModelHolder();
  const load = (file: string | undefined): Promise<LoadedModel> =>
    loadModel({ places, ...(file !== undefined && { file }) }, environment, build);
  // Endpoints decide how to listen, so they are read before; the model goes in place once we do.
  const first = await load(options.model);
  const { a2aServer, sections } = first.project.endpoints;
  const store = options.store ?? storeOf(sections.get('store'), places.directory);
  checkWorkers(environment, store, logger);
  const access = new ApiAccess(options.api ?? {});
  let doors: { conversations: Conversations } | undefined;

  const replaceModel = async (file: string | undefined): Promise<void> => {
    models.current = file === undefined ? undefined : await load(file);
    await serving.router.cards.replace(await cardFor(models.current, a2aServer, serving, places));
    logger.info({ model: models.current?.project.modelId }, 'assistant.model_replaced');
  };
  const before = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<boolean> => {
    const { conversations } = doors ?? {};
    if (conversations === undefined) return false;
    if (path === '/' && request.method === 'GET') {
      response
        .writeHead(200, { 'content-type': 'text/plain' })
        .end(`Hello from Legate: ${version}\n`);
      return true;
    }
    if (path === '/webhooks/rest/' || path === '/webhooks/rest') {
      sendJson(response, 200, '{"status":"ok"}');
      return true;
    }
    if (path === '/webhooks/rest/webhook' && request.method === 'POST') {
      await handleRestChannel(conversations, defaultLimits, request, response, query);
      return true;
    }
    if (options.enableApi === true) {
      const api = { access, conversations, models, limits: defaultLimits, replaceModel, version };
      if (await handleApi(api, request, response, path, query)) return true;
    }
    const isShared = path === '/health' || path === '/ready';
    if (a2aServer === undefined && !isShared) {
      throw new LegateError('ROUTE_NOT_FOUND', `there is nothing at ${path.slice(0, 200)}`);
    }
    return false;
  };
  const serving: Serving = await serve(
    assistantAgent({
      assistant: () => models.current?.assistant,
      name: assistantName,
      description: a2aServer?.description ?? first.project.name,
      includeConversationRepair: a2aServer?.includeConversationRepair ?? true,
    }),
    {
      ...listening(options),
      store,
      before,
      logger,
      ...(a2aServer !== undefined && (await a2aOptions(a2aServer, places))),
    },
  );
  doors = { conversations: new Conversations(serving.router.engine, serving.router.store, models) };
  await serving.router.cards.replace(await cardFor(undefined, a2aServer, serving, places));
  models.current = first;
  await serving.router.cards.replace(await cardFor(first, a2aServer, serving, places));
  return { ...serving, models, conversations: doors.conversations };
}

function listening(options: ServeAssistantOptions): ServeOptions {
  const { port, host, tls, drainMs, dangerouslyAllowUnauthenticatedRemote } = options;
  return {
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(tls !== undefined && { tls }),
    ...(drainMs !== undefined && { drainMs }),
    ...(dangerouslyAllowUnauthenticatedRemote !== undefined && {
      dangerouslyAllowUnauthenticatedRemote,
    }),
  };
}

/** What `a2a_server:` says, in the words of the server. */
async function a2aOptions(server: A2aServer, places: ProjectPlaces): Promise<ServeOptions> {
  const { auth, pushNotificationAllowedHosts: allowedHosts } = server;
  return {
    ...(server.url !== undefined && { url: server.url.replace(/\/$/, '') }),
    taskTimeoutMs: server.taskTimeoutSeconds * 1000,
    messageCacheTtlMs: server.messageCacheTtlSeconds * 1000,
    maxContexts: server.maxContexts,
    setsContextHints: true,
    ...(server.pushNotificationsEnabled && {
      push: {
        policy: allowedHosts === undefined ? sealedPolicy : { ...sealedPolicy, allowedHosts },
        resolveAtRegistration: true,
      },
    }),
    ...(auth !== undefined && {
      auth: new Authenticator({
        verifiers: [
          await jwtVerifier({
            keys:
              auth.jwt.secret === undefined
                ? { publicKeyFile: resolve(places.directory, auth.jwt.publicKeyPath ?? '') }
                : { secret: auth.jwt.secret },
            algorithms: [auth.jwt.algorithm],
            // The token speaks for the orchestrator: one that names no subject is still one.
            defaultSubject: 'orchestrator',
            requireExpiry: false,
            ...(auth.jwt.issuer !== undefined && { issuer: auth.jwt.issuer }),
            ...(auth.jwt.audience !== undefined && { audience: auth.jwt.audience }),
          }),
        ],
      }),
      protectsCard: true,
    }),
  };
}

/** The card of a model: its own file, or made from its flows; a placeholder without one. */
async function cardFor(
  model: LoadedModel | undefined,
  server: A2aServer | undefined,
  serving: Serving,
  places: ProjectPlaces,
): Promise<AgentCard> {
  const made = serving.router.cards.current;
  const { supportedInterfaces, capabilities } = made;
  if (server?.agentCardPath !== undefined) {
    const path = resolve(places.directory, server.agentCardPath);
    const card = readAgentCard(JSON.parse(await readFile(path, 'utf8')));
    return { ...card, supportedInterfaces, capabilities };
  }
  const skills =
    model === undefined
      ? []
      : skillsOf(model.project.flows, {
          includeConversationRepair: server?.includeConversationRepair ?? true,
        });
  const card = cardOf(
    {
      name: model?.project.config.assistantId ?? 'Rasa Agent',
      description: server?.description ?? '',
      skills,
      take: () => [] as never,
    },
    {
      url: serving.url,
      version: model === undefined ? '1.0.0' : versionOf(model),
      capabilities,
    },
  );
  const { securitySchemes, securityRequirements } = made;
  return {
    ...card,
    ...(securitySchemes !== undefined && { securitySchemes }),
    ...(securityRequirements !== undefined && { securityRequirements }),
  };
}

/** `store:` of endpoints.yml; without one, tasks are kept beside the project. */
function storeOf(section: unknown, directory: string): StoreOptions {
  const { type = 'sqlite', ...rest } = (section ?? {}) as { type?: string; path?: string };
  if (type === 'memory') return { type: 'memory' };
  if (type === 'sqlite') {
    return { type: 'sqlite', path: resolve(directory, rest.path ?? join('.legate', 'store.db')) };
  }
  if (type === 'postgres') return { type: 'postgres', ...rest } as unknown as StoreOptions;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `endpoints.yml store.type: there is no store "${type}"; use memory, sqlite or postgres`,
  );
}
