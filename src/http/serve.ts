import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Agent, Caller } from '../agents/index.ts';
import { type AgentCapabilities, type AgentCard, LegateError } from '../protocol/index.ts';
import { openStore, type Store, type StoreOptions } from '../store/index.ts';
import { anonymous, Engine, type EngineOptions } from '../tasks/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { type CardOptions, cardOf, Cards } from './cards.ts';
import { createHandler, type Handler, type HandlerOptions } from './handler.ts';
import { defaultLimits, type HttpLimits, type Service } from './service.ts';

type EngineTuning = Partial<Omit<EngineOptions, 'agent' | 'store' | 'logger'>>;

export interface RouterOptions extends EngineTuning {
  /** A store, or which one to open. @default { type: 'memory' } */
  store?: Store | StoreOptions;
  /** Where callers reach this server, without a slash at the end. @default 'http://localhost' and the port */
  url?: string;
  /** Parts of the card beside what the agent says. */
  card?: Partial<Omit<CardOptions, 'url' | 'capabilities'>> & {
    capabilities?: Omit<AgentCapabilities, 'streaming' | 'pushNotifications'>;
  };
  /** A card served as it is, instead of one made from the agent. */
  staticCard?: AgentCard;
  /** The extended card, for those who may see it. */
  extendedCard?: (caller: Caller) => AgentCard | Promise<AgentCard>;
  authenticate?: Service['authenticate'];
  /** The `WWW-Authenticate` of a 401. @default 'Bearer' */
  challenge?: string;
  /** Whether the card is for authenticated callers only. @default false */
  protectsCard?: boolean;
  /** Takes 1.0 requests that do not state their version. @default false */
  isLenient?: boolean;
  /** @default '1.0.1' */
  errorProfile?: '1.0.1' | '1.0.0';
  /** @default false */
  setsContextHints?: boolean;
  limits?: Partial<HttpLimits>;
  before?: HandlerOptions['before'];
  logger?: Logger;
}

/** An agent's doors without a server of their own. */
export interface Router extends AsyncDisposable {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly store: Store;
  readonly cards: Cards;
  /** Closes streams with a last comment and lets turns end, or hands them over. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * The doors of an agent as a `(req, res)` handler, for a server you have already.
 * @example
 * const { handler } = await router(agent, { url: 'https://example.com/agent' });
 * express().use('/agent', handler);
 */
export async function router(agent: Agent, options: RouterOptions = {}): Promise<Router> {
  const {
    store: storeOption = { type: 'memory' },
    url = 'http://localhost',
    card: cardOptions,
    staticCard,
    extendedCard,
    authenticate = () => anonymous,
    challenge = 'Bearer',
    protectsCard = false,
    isLenient = false,
    errorProfile = '1.0.1',
    setsContextHints = false,
    limits,
    before,
    logger = silentLogger,
    ...tuning
  } = options;
  const isOwnStore = 'type' in storeOption;
  const store = isOwnStore ? await openStore(storeOption) : storeOption;
  const { capabilities, ...cardRest } = cardOptions ?? {};
  const declared = capabilities?.extensions ?? [];
  const engine = await Engine.start({
    agent,
    store,
    logger,
    extensions: declared.map(({ uri }) => uri),
    requiredExtensions: declared.filter(({ required }) => required).map(({ uri }) => uri),
    ...tuning,
  });
  const card =
    staticCard ??
    cardOf(agent, {
      url,
      ...cardRest,
      capabilities: {
        streaming: tuning.streaming ?? true,
        pushNotifications: tuning.push !== undefined,
        ...capabilities,
        ...(extendedCard !== undefined && { extendedAgentCard: true }),
      },
    });
  const cards = new Cards(card, extendedCard === undefined ? {} : { extended: extendedCard });
  const closing = new AbortController();
  const service: Service = {
    engine,
    cards,
    limits: { ...defaultLimits, ...limits },
    logger,
    isLenient,
    errorProfile,
    setsContextHints,
    authenticate,
    challenge,
    protectsCard,
  };
  const handler = createHandler(service, {
    closing: closing.signal,
    isReady: () => !closing.signal.aborted,
    ...(before !== undefined && { before }),
  });
  const close: Router['close'] = async ({ graceMs = 0 } = {}) => {
    if (closing.signal.aborted) return;
    closing.abort();
    await engine.stop({ graceMs });
    if (isOwnStore) await store.close();
  };
  return { handler, engine, store, cards, close, [Symbol.asyncDispose]: () => close() };
}

export interface ServeOptions extends RouterOptions {
  /** @default 0, any free port */
  port?: number;
  /** @default '127.0.0.1' */
  host?: string;
  /** How long turns may take to end by themselves when the server stops, in milliseconds. @default 10_000 */
  drainMs?: number;
}

/** A running server. */
export interface Serving extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  readonly router: Router;
  close(): Promise<void>;
}

/**
 * Serves an agent over HTTP until closed.
 * @example
 * await using server = await serve(agent({ name: 'echo' }, async function* (turn) {
 *   yield artifact(textOf(turn.message));
 * }), { port: 8080 });
 */
export async function serve(agent: Agent, options: ServeOptions = {}): Promise<Serving> {
  const { port = 0, host = '127.0.0.1', drainMs = 10_000, ...rest } = options;
  let handler: Handler = (_request, response) => void response.writeHead(503).end();
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    handler(request, response);
  });
  await listen(server, port, host);
  const address = server.address() as AddressInfo;
  const shownHost =
    host === '0.0.0.0' || host === '::' || host === '127.0.0.1' ? 'localhost' : host;
  const url =
    options.url ??
    `http://${shownHost.includes(':') ? `[${shownHost}]` : shownHost}:${address.port}`;
  let made: Router;
  try {
    made = await router(agent, { ...rest, url });
  } catch (error) {
    server.close();
    throw error;
  }
  ({ handler } = made);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= shutDown(server, made, drainMs));
  return {
    url,
    port: address.port,
    server,
    router: made,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Takes no new connections, ends streams, lets turns end, then lets go of what is left. */
async function shutDown(server: Server, made: Router, drainMs: number): Promise<void> {
  const isClosed = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeIdleConnections();
  await made.close({ graceMs: drainMs });
  server.closeIdleConnections();
  // Answers that are being written get a moment; a client that does not read must not hold us.
  const timer = setTimeout(() => server.closeAllConnections(), 1_000);
  await isClosed;
  clearTimeout(timer);
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === 'EADDRINUSE'
          ? `port ${port} is in use; choose another or stop the other program`
          : `${host}:${port} cannot be listened on: ${cause.message}`;
      reject(new LegateError('CONFIGURATION_INVALID', why, { cause }));
    });
    server.listen(port, host, () => resolve());
  });
}
