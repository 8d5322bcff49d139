import type { Caller } from '../../agents/index.ts';
import { isLoopbackHost } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import {
  type Channel,
  type InspectorAccess,
  inspectorChannel,
  type InspectorOptions,
  serve,
  type ServeOptions,
  type Serving,
  telemetryOf,
} from '../../http/index.ts';
import { LegateError } from '../../protocol/index.ts';
import {
  type Store,
  type StoreClock,
  type StoreOptions,
  storeOptionsOf,
} from '../../store/index.ts';
import { retentionOf, systemScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import type { BuildOptions } from '../build/build-assistant.ts';
import type { A2aServer } from '../project/a2a-server.ts';
import type { ProjectPlaces } from '../project/project-folder.ts';
import { a2aOptions, cardMaker, readStaticCard } from './a2a-server.ts';
import { assistantAgent } from './a2a.ts';
import { ApiAccess, type ApiAccessOptions } from './api-access.ts';
import { apiChannel, statusChannel } from './api.ts';
import { assistantName, Conversations } from './conversations.ts';
import { InactivityTimers } from './inactivity-timers.ts';
import { inspectedAssistant } from './inspected.ts';
import {
  makeReady,
  ModelHolder,
  type ModelSource,
  readModel,
  SharedModel,
} from './model-holder.ts';
import { restChannel } from './rest.ts';

/**
 * Which project is served, on which address, and to which clients.
 * @example
 * const options: ServeAssistantOptions = {
 *   places: { directory: 'bank', endpoints: 'endpoints.production.yml' },
 *   port: 5005,
 *   enableApi: true,
 *   api: { token: process.env.AUTH_TOKEN ?? '' }, // an empty one is refused
 * };
 */
export interface ServeAssistantOptions extends Pick<
  ServeOptions,
  | 'port'
  | 'host'
  | 'tls'
  | 'drainMs'
  | 'noticeMs'
  | 'dangerouslyAllowUnauthenticatedRemote'
  | 'scheduler'
> {
  readonly places: ProjectPlaces;
  /** A packed model; without it the project folder is read. */
  readonly model?: string;
  /** Overrides `store:` of endpoints.yml; a store passed in open is not closed. */
  readonly store?: Store | StoreOptions;
  /** Opens the HTTP API; without it only webhooks, A2A and `GET /status` answer. @default false */
  readonly enableApi?: boolean;
  /** Credentials for the HTTP API. @default none: local clients only */
  readonly api?: ApiAccessOptions;
  /** Origins of web pages that may call, or `*`. @default none */
  readonly cors?: readonly string[];
  /** @default process.env */
  readonly environment?: NodeJS.ProcessEnv;
  readonly build?: BuildOptions;
  /** Shown by `GET /version`. @default '0.1.0' */
  readonly version?: string;
  /** Called when the port is open, before the model is ready. */
  readonly onListening?: (url: string) => void | Promise<void>;
  /** Serves the inspector below `/inspect`; `inspectorUrl` opens it. @default false */
  readonly inspect?: boolean | InspectorOptions;
  readonly logger?: Logger;
}

/**
 * A running assistant.
 * @example
 * const bank: AssistantServing = await serveAssistant({ places: { directory: 'bank' } });
 * const said = await bank.conversations.say('ada', 'What is my balance?', { channel: 'kiosk' });
 * console.log(said, bank.models.current?.project.modelId);
 */
export interface AssistantServing extends Serving {
  readonly models: ModelHolder;
  readonly conversations: Conversations;
  /** The store of tasks and conversations. */
  readonly storage: Store | StoreOptions;
}

/**
 * Serves a project: A2A when endpoints.yml has an `a2a_server`, the REST channel, and the HTTP API on
 * request, all on one port. The card is a placeholder until the model is ready, and follows reloads.
 * @example
 * await using bank = await serveAssistant({ places: { directory: 'examples/bank' }, port: 5005 });
 */
export async function serveAssistant(options: ServeAssistantOptions): Promise<AssistantServing> {
  const { environment = process.env, places, version = '0.1.0', inspect = false } = options;
  const logger = withRasaNames(options.logger ?? defaultLogger);
  // Replicas share conversations, so timestamps come from the store's clock once it is open.
  let storeClock: StoreClock | undefined;
  const scheduler = options.scheduler ?? {
    ...systemScheduler,
    now: () => (storeClock ?? systemScheduler).now(),
  };
  const build: BuildOptions = {
    logger,
    environment,
    clock: scheduler,
    ...options.build,
  };
  // The project says how to listen, so it is read first; building the assistant follows.
  const first = await readModel({ places, file: options.model }, environment, logger);
  const { a2aServer, store: settings, telemetry } = first.project.endpoints;
  const storage = options.store ?? storeOptionsOf(settings, places.directory);
  if (a2aServer !== undefined) checkWorkers(environment, storage, logger);
  const access = new ApiAccess(
    options.api ?? {},
    options.dangerouslyAllowUnauthenticatedRemote === true,
  );
  const hasRest = first.project.credentials.size === 0 || first.project.credentials.has('rest');
  const hasApi = options.enableApi === true;
  checkRemoteAccess(options, { a2aServer, hasRest, api: hasApi ? access : undefined });

  const models = new ModelHolder();
  const staticCard = await readStaticCard(a2aServer, places.directory);
  const replaceModel = async (requested: { readonly file: string } | 'same' | 'none') => {
    const file = models.current?.packed;
    const wanted = requested === 'same' ? (file === undefined ? 'folder' : { file }) : requested;
    await (sharedModel?.change(wanted) ?? serveModel(wanted));
  };
  const serveModel = (wanted: ModelSource): Promise<void> =>
    models.change(async () => {
      if (wanted === 'none') return undefined;
      const file = wanted === 'folder' ? undefined : wanted.file;
      return makeReady(await readModel({ places, file }, environment, logger), build);
    });
  let sharedModel: SharedModel | undefined;
  const timers = new InactivityTimers({
    agent: assistantName,
    assistant: () => models.current?.assistant,
    scheduler,
    logger,
  });
  const inspector = inspectorOf(inspect, {
    assistant: inspectedAssistant(models, () => conversations),
    access: apiTokenAccess(access),
  });
  const serving = await serve(
    assistantAgent({
      assistant: () => models.current?.assistant,
      name: assistantName,
      description: a2aServer?.description ?? first.project.name,
      includeConversationRepair: a2aServer?.includeConversationRepair ?? true,
      timers,
    }),
    {
      ...listening(options),
      store: storage,
      ...retentionOf(settings),
      a2a: a2aServer !== undefined,
      channels: [
        greeting(version),
        ...(hasRest ? [restChannel(models, version)] : []),
        (hasApi ? apiChannel : statusChannel)({ access, models, replaceModel, version }),
        ...(inspector === undefined ? [] : [inspector]),
      ],
      cors: options.cors ?? [],
      logger,
      ...telemetryOf(telemetry, first.project.name),
      ...(a2aServer !== undefined &&
        (await a2aOptions(a2aServer, {
          directory: places.directory,
          tls: options.tls,
          logger,
        }))),
    },
  );
  const cardFor = cardMaker(serving.router.cards.current, a2aServer, staticCard);
  await serving.router.cards.replace(cardFor(undefined));
  models.onChange(async (model) => {
    await serving.router.cards.replace(cardFor(model));
    logger.info({ model: model?.project.modelId ?? null }, 'assistant.model_changed');
  });
  const { store } = serving.router;
  const conversations = new Conversations(serving.router, models);
  storeClock = store.clock;
  const close = async (): Promise<void> => {
    await timers.stop();
    await sharedModel?.stop();
    try {
      await serving.close();
    } finally {
      await models.close();
    }
  };
  try {
    await options.onListening?.(serving.url);
    await models.change(() => makeReady(first, build));
    timers.start({ engine: serving.router.engine, store });
    if (store.shared) {
      sharedModel = new SharedModel({
        records: store.records,
        base: first.project.modelId,
        serve: serveModel,
        scheduler,
        logger,
      });
      await sharedModel.start();
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...serving,
    ...(inspector !== undefined && { inspectorUrl: inspector.link(serving.url) }),
    models,
    conversations,
    storage,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Describes the server to browsers. */
function greeting(version: string): Channel {
  return {
    name: 'greeting',
    mount(host) {
      host.route('GET', '/', ({ response }) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.end(`Hello from Legate: ${version}\n`);
      });
    },
  };
}

function inspectorOf(
  inspect: NonNullable<ServeAssistantOptions['inspect']>,
  shown: Parameters<typeof inspectorChannel>[0],
): ReturnType<typeof inspectorChannel> | undefined {
  if (inspect === false) return undefined;
  return inspectorChannel({ ...(inspect === true ? {} : inspect), ...shown });
}

/** Administrators of the HTTP API may use the inspector. */
function apiTokenAccess(access: ApiAccess): InspectorAccess {
  return {
    isOpen: access.isOpen,
    async admit(request, query): Promise<Caller> {
      await access.check(request, query, undefined);
      return { tenant: '', subject: '', method: 'api-token' };
    },
  };
}

function listening(options: ServeAssistantOptions): ServeOptions {
  const { port, host, tls, drainMs, noticeMs, scheduler } = options;
  return {
    ...present({ port, host, tls, drainMs, noticeMs, scheduler }),
    // checkRemoteAccess has checked the authentication of each channel.
    dangerouslyAllowUnauthenticatedRemote: true,
  };
}

/**
 * `SANIC_WORKERS` configures several workers in one server. Legate has none: it scales by replicas on
 * a shared store. With a durable store the setting is ignored; with the memory store each worker would
 * have its own tasks, so it is refused, as projects that set it expect.
 */
export function checkWorkers(
  environment: NodeJS.ProcessEnv,
  store: Store | StoreOptions,
  logger: Logger,
): void {
  const workers = Number(environment['SANIC_WORKERS'] ?? 1);
  if (!(workers > 1)) return;
  const type = 'type' in store ? store.type : 'given';
  if (type === 'memory') {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `SANIC_WORKERS=${workers} with a store in memory: each worker would have tasks of its own; ` +
        'set SANIC_WORKERS=1, or configure a durable store (store: {type: sqlite}, or postgres), with which ' +
        'there is no such limit [validation.a2a_server.incompatible_sanic_workers]',
    );
  }
  logger.info({ workers, store: type }, 'assistant.workers_not_needed');
}

interface Channels {
  readonly a2aServer: A2aServer | undefined;
  readonly hasRest: boolean;
  /** Undefined while the API is off. */
  readonly api: ApiAccess | undefined;
}

/** The server accepts remote connections only when every channel authenticates its clients. */
export function checkRemoteAccess(
  options: { readonly host?: string; readonly dangerouslyAllowUnauthenticatedRemote?: boolean },
  { a2aServer, hasRest, api }: Channels,
): void {
  const open = [
    ...(a2aServer !== undefined && a2aServer.auth === undefined
      ? ['A2A (set a2a_server.auth)']
      : []),
    ...(hasRest ? ['the REST channel (name other channels in credentials.yml)'] : []),
    ...(api?.isOpen === true ? ['the HTTP API (set --auth-token or --jwt-secret)'] : []),
  ];
  const { host = '127.0.0.1', dangerouslyAllowUnauthenticatedRemote = false } = options;
  if (open.length === 0 || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `refusing to listen on ${host} without authentication for ${open.join(', ')}: secure these, ` +
      'listen on 127.0.0.1, or allow it with --dangerously-allow-unauthenticated-remote ' +
      '(in code: dangerouslyAllowUnauthenticatedRemote)',
  );
}

/** Rasa's names of log events that operators have alerts for. */
const rasaNames: Readonly<Record<string, string>> = {
  'audit.unauthenticated': 'a2a_server.sanic_app.auth_rejected',
  'http.stream.failed': 'a2a_server.sanic_app.stream_sse.error',
  'tasks.context_limit': 'a2a_server.rasa_a2a_agent_executor.execute.context_limit',
  'tasks.message.in_flight': 'a2a_server.sanic_app.message_in_flight_conflict',
  'tasks.turn.timeout': 'a2a_server.rasa_a2a_agent_executor.task_timeout',
};

/** A logger that uses Rasa's event names where Rasa has one. */
export function withRasaNames(logger: Logger): Logger {
  const named =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] =>
    (fields, event) =>
      logger[level](fields, rasaNames[event] ?? event);
  return {
    debug: named('debug'),
    info: named('info'),
    warn: named('warn'),
    error: named('error'),
    child: (fields) => withRasaNames(logger.child(fields)),
  };
}
