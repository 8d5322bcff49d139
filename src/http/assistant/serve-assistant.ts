import {
  assistantAgent,
  type BuildOptions,
  InactivityTimers,
  type ProjectPlaces,
} from '../../assistant/index.ts';
import { isLoopbackHost } from '../../auth/index.ts';
import {
  type Store,
  type StoreClock,
  type StoreOptions,
  storeOptionsOf,
} from '../../store/index.ts';
import { retentionOf, systemScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { apiTokenAccess, inspectorDoor, type InspectorOptions } from '../inspector/index.ts';
import { either, serve, type ServeOptions, type Serving } from '../serve.ts';
import { defaultLimits } from '../service.ts';
import { telemetryOf } from '../telemetry-options.ts';
import { a2aOptions } from './a2a-options.ts';
import { ApiAccess, type ApiAccessOptions } from './api-access.ts';
import { cardMaker, readStaticCard } from './card.ts';
import { assistantName, Conversations } from './conversations.ts';
import { createDoors } from './doors.ts';
import { checkReach, checkWorkers } from './guards.ts';
import { ModelHolder } from './model-holder.ts';
import { makeReady, readModel } from './model-loading.ts';
import { SharedModel, type WantedModel } from './shared-model.ts';

/**
 * Which project is served, where, and to whom.
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
  /** Overrides `store:` of endpoints.yml; one that is open already stays open. */
  readonly store?: Store | StoreOptions;
  /** Opens the HTTP API; without it only webhooks and A2A answer. @default false */
  readonly enableApi?: boolean;
  /** Who may use the HTTP API. @default programs on this machine */
  readonly api?: ApiAccessOptions;
  /** Origins of web pages that may call, or `*`. @default none */
  readonly cors?: readonly string[];
  /** @default process.env */
  readonly environment?: NodeJS.ProcessEnv;
  readonly build?: BuildOptions;
  /** Shown by `GET /version`. @default '0.1.0' */
  readonly version?: string;
  /** Called as soon as the port is open, while the model is still being made ready. */
  readonly onListening?: (url: string) => void | Promise<void>;
  /** Shows what goes on as a page below `/inspect`; `inspectorUrl` opens it. @default false */
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
  /** Where everything is kept. */
  readonly storage: Store | StoreOptions;
}

/**
 * Serves a project: A2A when endpoints.yml has an `a2a_server`, the REST channel, and the HTTP API on
 * request, all on one port. The card is a placeholder until the model is ready, and follows reloads.
 * @example
 * await using bank = await serveAssistant({ places: { directory: 'examples/bank' }, port: 5005 });
 */
export async function serveAssistant(options: ServeAssistantOptions): Promise<AssistantServing> {
  const { logger = defaultLogger, environment = process.env, places, version = '0.1.0' } = options;
  const { inspect = false } = options;
  const inspector = inspect === false ? undefined : inspectorDoor(inspect === true ? {} : inspect);
  // Conversations go on at other replicas: their times are the store's once it is open.
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
  // How to listen stands in the project, so it is read first; what may take time comes after.
  const first = await readModel({ places, file: options.model }, environment, logger);
  const { a2aServer, store: settings, telemetry } = first.project.endpoints;
  const storage = options.store ?? storeOptionsOf(settings, places.directory);
  if (a2aServer !== undefined) checkWorkers(environment, storage, logger);
  const access = new ApiAccess(
    options.api ?? {},
    options.dangerouslyAllowUnauthenticatedRemote === true,
  );
  const hasRest = first.project.credentials.size === 0 || first.project.credentials.has('rest');
  checkReach(options, { a2aServer, hasRest, api: options.enableApi === true ? access : undefined });

  const models = new ModelHolder();
  const staticCard = await readStaticCard(a2aServer, places.directory);
  const doors = createDoors({
    access,
    models,
    limits: defaultLimits,
    version,
    hasRest,
    hasApi: options.enableApi === true,
    hasA2a: a2aServer !== undefined,
    cors: options.cors ?? [],
    names: namesOf(options, a2aServer?.url),
    logger,
    replaceModel: async (asked) => {
      const file = models.current?.packed;
      const wanted = asked === 'same' ? (file === undefined ? 'folder' : { file }) : asked;
      await (sharedModel?.change(wanted) ?? serveModel(wanted));
    },
  });
  const serveModel = (wanted: WantedModel): Promise<void> =>
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
      before: inspector === undefined ? doors.handle : either(inspector.handle, doors.handle),
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
  const conversations = new Conversations(serving.router.engine, serving.router.store, models);
  doors.open(conversations);
  const { service, store, push } = serving.router;
  storeClock = store.clock;
  inspector?.open({
    agents: [{ name: assistantName, service, assistant: { models, conversations } }],
    store,
    push,
    access: apiTokenAccess(access),
  });
  const close = async (): Promise<void> => {
    inspector?.close();
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

/** Who listens on this machine only is called by names of this machine, or by its public one. */
function namesOf(
  { host = '127.0.0.1' }: ServeAssistantOptions,
  url: string | undefined,
): readonly string[] | undefined {
  if (!isLoopbackHost(host)) return undefined;
  const own = url === undefined ? undefined : URL.parse(url)?.hostname;
  return own === undefined ? [] : [own];
}

function listening(options: ServeAssistantOptions): ServeOptions {
  const { port, host, tls, drainMs, noticeMs, scheduler } = options;
  return {
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(tls !== undefined && { tls }),
    ...(drainMs !== undefined && { drainMs }),
    ...(noticeMs !== undefined && { noticeMs }),
    ...(scheduler !== undefined && { scheduler }),
    // Which doors are open to whom was looked at before, door by door.
    dangerouslyAllowUnauthenticatedRemote: true,
  };
}
