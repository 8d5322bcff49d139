import type { Agent, Caller } from '../../agents/index.ts';
import { present } from '../../config/index.ts';
import {
  type Channel,
  type InspectorAccess,
  inspectorChannel,
  type InspectorOptions,
  type NetworkProvider,
  serve,
  type ServeOptions,
  type Serving,
  telemetryOf,
} from '../../http/index.ts';
import type { PeerNetwork } from '../../peers/index.ts';
import { Opened } from '../../service/index.ts';
import {
  openStore,
  type Store,
  type StoreClock,
  type StoreOptions,
  storeOptionsOf,
} from '../../store/index.ts';
import { type Engine, retentionOf, systemScheduler } from '../../tasks/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import type { BuildOptions } from '../build/build-assistant.ts';
import type { ProjectPlaces } from '../project/project-folder.ts';
import { a2aOptions, cardMaker, readStaticCard } from './a2a-server.ts';
import { assistantAgent } from './a2a.ts';
import { ApiAccess, type ApiAccessOptions } from './api-access.ts';
import { apiChannel, statusChannel } from './api.ts';
import { openAccess } from './channel-access.ts';
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
import { checkWorkers, withRasaNames } from './rasa-operations.ts';
import { restChannel } from './rest.ts';

/**
 * The project to serve, its address, and its clients.
 * @example
 * const options: ServeAssistantOptions = {
 *   places: { directory: 'bank', endpoints: 'endpoints.production.yml' },
 *   port: 5005,
 *   enableApi: true,
 *   api: { token: process.env.AUTH_TOKEN ?? '' }, // an empty token is rejected
 * };
 */
export interface ServeAssistantOptions extends Pick<
  ServeOptions,
  | 'port'
  | 'host'
  | 'url'
  | 'tls'
  | 'drainMs'
  | 'noticeMs'
  | 'dangerouslyAllowUnauthenticatedRemote'
  | 'scheduler'
> {
  /** The files of the project. */
  readonly places: ProjectPlaces;
  /** The path of a packed model. @default the project folder */
  readonly model?: string;
  /** Overrides `store:` of endpoints.yml. The server doesn't close an open store that is passed in. */
  readonly store?: Store | StoreOptions;
  /** Serves the HTTP API. Without it, only webhooks, A2A and `GET /status` are served. @default false */
  readonly enableApi?: boolean;
  /** Credentials for the HTTP API. @default none: local clients only */
  readonly api?: ApiAccessOptions;
  /** Origins of web pages that may call the server, or `*`. @default none */
  readonly cors?: readonly string[];
  /** Variables for `${NAME}` in the files. @default process.env */
  readonly environment?: NodeJS.ProcessEnv;
  /** How the assistant is built from the project. */
  readonly build?: BuildOptions;
  /** Shown by `GET /version`. @default '0.1.0' */
  readonly version?: string;
  /** Called when the server listens, before the model is ready. */
  readonly onListening?: (url: string) => void | Promise<void>;
  /** Serves the inspector below `/inspect`; `inspectorUrl` opens it. @default false */
  readonly inspect?: boolean | InspectorOptions;
  /** Opens the agents of `peers:` in endpoints.yml. They are closed after all turns. @default none */
  readonly openPeers?: (context: {
    readonly name: string;
    readonly store: Store;
  }) => Promise<AssistantPeers>;
  /** Receives log lines. */
  readonly logger?: Logger;
}

/**
 * The peers of an assistant: opened before its engine, started after it.
 * @example
 * const openPeers = async ({ name, store }: { name: string; store: Store }): Promise<AssistantPeers> => {
 *   const network = await openPeers({ name, store, wellKnown });
 *   return { network, start: () => network.start(), [Symbol.asyncDispose]: () => network.close() };
 * };
 */
export interface AssistantPeers extends AsyncDisposable {
  readonly network: PeerNetwork | undefined;
  /** For the inspector. */
  readonly inspected?: NetworkProvider | undefined;
  /** Adds the peers to the assistant's agent. @default returns the agent unchanged */
  wrap?(agent: Agent): Agent;
  /** Starts to receive the answers of peers. */
  start(engine: Engine): Promise<void>;
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
 * Serves a project on one port: A2A if endpoints.yml has an `a2a_server`, the REST channel, and optionally
 * the HTTP API. The card is a placeholder until the model is ready, and is replaced with each reload.
 * @example
 * await using bank = await serveAssistant({ places: { directory: 'examples/bank' }, port: 5005 });
 */
export async function serveAssistant(options: ServeAssistantOptions): Promise<AssistantServing> {
  const { environment = process.env, places, version = '0.1.0', inspect = false } = options;
  const logger = withRasaNames(options.logger ?? defaultLogger);
  // Replicas share conversations, so timestamps come from the store's clock as soon as the store is open.
  let storeClock: StoreClock | undefined;
  const scheduler = options.scheduler ?? {
    ...systemScheduler,
    now: () => (storeClock ?? systemScheduler).now(),
  };
  // The project configures the server, so it is read first. The assistant is built after the server listens.
  const first = await readModel({ places, file: options.model }, environment, logger);
  const { a2aServer, store: settings, telemetry } = first.project.endpoints;
  const storage = options.store ?? storeOptionsOf(settings, places.directory);
  if (a2aServer !== undefined) checkWorkers(environment, storage, logger);
  const { authenticator, access, hasRest, hasApi, senders } = await openAccess(
    first.project,
    options,
    logger,
  );

  await using opened = new Opened();
  const { store, peers } = await openPeersOf(options, {
    storage,
    name: first.project.name,
    opened,
  });
  const { network } = peers;
  const build: BuildOptions = {
    logger,
    environment,
    clock: scheduler,
    ...(network !== undefined && { peers: () => network }),
    ...options.build,
  };

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
    assistant: inspectedAssistant(models, () => conversations, {
      directory: places.directory,
      environment,
      build: { logger },
    }),
    access: apiTokenAccess(access),
    ...present({ network: peers.inspected }),
  });
  const started = Promise.withResolvers<void>();
  const assistant = assistantAgent({
    assistant: () => models.current?.assistant,
    name: assistantName,
    label: first.project.name,
    description: a2aServer?.description ?? first.project.name,
    includeConversationRepair: a2aServer?.includeConversationRepair ?? true,
    onInterrupted: a2aServer?.onInterrupted ?? 'fail',
    started: started.promise,
    timers,
  });
  const serving = await serve(peers.wrap(assistant), {
    ...listening(options),
    store,
    ...retentionOf(settings),
    a2a: a2aServer !== undefined,
    channels: [
      greeting(version),
      ...(hasRest ? [restChannel(models, version, senders)] : []),
      (hasApi ? apiChannel : statusChannel)({ access, models, replaceModel, version }),
      ...(inspector === undefined ? [] : [inspector]),
    ],
    cors: options.cors ?? [],
    logger,
    requirements: [() => (models.current === undefined ? 'no model is loaded' : undefined)],
    ...telemetryOf(telemetry, first.project.name),
    ...(a2aServer !== undefined &&
      a2aOptions(a2aServer, {
        authenticator,
        push: first.project.endpoints.push,
        directory: places.directory,
        logger,
      })),
    ...present({ url: options.url }),
  });
  const cardFor = cardMaker(serving.router.cards.current, a2aServer, staticCard);
  await serving.router.cards.replace(cardFor(undefined));
  models.onChange(async (model) => {
    await serving.router.cards.replace(cardFor(model));
    logger.info({ model: model?.project.modelId ?? null }, 'assistant.model_changed');
  });
  const conversations = new Conversations(serving.router, models);
  const { store: running } = serving.router;
  storeClock = running.clock;
  const close = async (): Promise<void> => {
    await timers.stop();
    await sharedModel?.stop();
    try {
      await serving.close();
    } finally {
      await models.close();
      await closing[Symbol.asyncDispose]();
    }
  };
  const closing = opened.move();
  try {
    await options.onListening?.(serving.url);
    await models.change(() => makeReady(first, build)).finally(started.resolve);
    timers.start({ engine: serving.router.engine, store: running });
    await peers.start(serving.router.engine);
    if (running.shared) {
      sharedModel = new SharedModel({
        records: running.records,
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

const noPeers: Required<AssistantPeers> = {
  network: undefined,
  inspected: undefined,
  wrap: (agent) => agent,
  start: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

/** Opens the store and the peers. They are closed in reverse order; a store passed in open stays open. */
async function openPeersOf(
  { openPeers }: ServeAssistantOptions,
  {
    storage,
    name,
    opened,
  }: {
    readonly storage: Store | StoreOptions;
    readonly name: string;
    readonly opened: Opened;
  },
): Promise<{
  readonly store: Store | StoreOptions;
  readonly peers: Required<AssistantPeers>;
}> {
  if (openPeers === undefined) return { store: storage, peers: noPeers };
  const store = 'type' in storage ? await openStore(storage) : storage;
  if ('type' in storage) opened.defer(() => store.close());
  const peers = opened.use(await openPeers({ name, store }));
  return { store, peers: { ...noPeers, ...peers } };
}

/** `GET /`: names the server and its version for browsers. */
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

/** Admits administrators of the HTTP API to the inspector. */
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
    // `openAccess` has already checked the authentication of each channel.
    dangerouslyAllowUnauthenticatedRemote: true,
  };
}
