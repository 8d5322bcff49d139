import type { Agent } from '../agents/index.ts';
import type { Authenticator } from '../auth/index.ts';
import { LegateError } from '../protocol/index.ts';
import {
  type AgentOptions,
  type Cards,
  openServices,
  type Services,
  type SharedOptions,
} from '../service/index.ts';
import type { Engine } from '../tasks/index.ts';
import type { Channel, ChannelHost, MountedChannel } from './channel.ts';
import { createHandler, type Handler, type HandlerOptions } from './handler.ts';
import { mountable, type MountableHandler } from './mount.ts';
import { MetricsEndpoint } from './metrics-endpoint.ts';
import type { HttpOptions, HttpService, RouterOptions } from './options.ts';
import { refuseForeignNames, refuseForeignPages } from './request-guard.ts';
import { ChannelRoutes } from './routes.ts';
import type { Drain } from './shut-down.ts';

/** One agent on HTTP, without a server of its own. */
export interface AgentEndpoints {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly cards: Cards;
  /** What callers must prove, if anything. */
  readonly auth: Authenticator;
  /** What other transports need to serve the same agent beside this one. */
  readonly service: HttpService;
}

/** Agents of one process on HTTP. */
export interface Endpoints extends Pick<Services, 'store' | 'push' | 'readiness'> {
  /** In the order of the agents. */
  readonly agents: readonly AgentEndpoints[];
  readonly closing: AbortSignal;
  /**
   * Lets turns end by themselves for `graceMs`, then hands them over. Streams end with their turns;
   * those that are left get a last comment.
   */
  readonly drain: Drain;
  /** Drains and lets go of everything. @default graceMs 0 */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>;
}

/** Starts agents and what answers for them over HTTP. */
export async function openEndpoints(
  agents: readonly { readonly agent: Agent; readonly options: AgentOptions & HttpOptions }[],
  shared: SharedOptions & Pick<RouterOptions, 'prometheus' | 'hostNames'>,
): Promise<Endpoints> {
  const { prometheus = false } = shared;
  const metrics = prometheus === true ? {} : prometheus === false ? undefined : prometheus;
  if (metrics !== undefined) MetricsEndpoint.check(metrics);
  const services = await openServices(
    agents.map(({ agent, options }) => ({
      agent,
      options: { duplicateStreams: 'attach', ...options },
    })),
    // Prometheus wants to see all of the process: bus, peers and models count by OpenTelemetry.
    metrics === undefined ? shared : { ...shared, telemetry: shared.telemetry ?? {} },
  );
  const { store, push, readiness, telemetry } = services;
  const metricsEndpoint =
    metrics === undefined || telemetry === undefined
      ? undefined
      : new MetricsEndpoint(telemetry, metrics);
  const closing = new AbortController();
  const mounted: MountedChannel[] = [];
  const made: AgentEndpoints[] = [];
  const drain: Endpoints['drain'] = async (grace) => {
    const transports: Promise<void>[] = [];
    for (const channel of mounted.splice(0).toReversed()) {
      if (channel !== undefined && 'drain' in channel) transports.push(channel.drain(grace));
      else await dispose(channel);
    }
    await services.drain(grace);
    closing.abort();
    await Promise.all(transports);
  };
  const closeAll = async (graceMs: number): Promise<void> => {
    readiness.leave();
    await drain({ graceMs });
    await services.close();
  };
  let closed: Promise<void> | undefined;
  const close: Endpoints['close'] = ({ graceMs = 0 } = {}) => (closed ??= closeAll(graceMs));
  try {
    for (const [index, { agent, options }] of agents.entries()) {
      const base = services.services[index];
      if (base === undefined) throw new TypeError(`agent ${agent.name} has no service`);
      const {
        cors: corsOrigins = [],
        setsContextHints = false,
        channels: given = [],
        a2a = true,
        rpcPath = '/',
        cardPath,
      } = options;
      const service: HttpService = { ...base, corsOrigins, setsContextHints, metricsEndpoint };
      const channels = [...given, ...(await ownChannels(options))];
      const routes = new ChannelRoutes();
      const handling: HandlerOptions = {
        closing: closing.signal,
        isReady: () => readiness.check(),
        channels: routes,
        rpcPath: checkPath('rpcPath', rpcPath),
        cardPath: cardPath === undefined ? undefined : checkPath('cardPath', cardPath),
        hasA2a: a2a,
      };
      for (const channel of channels) {
        const host: ChannelHost = {
          agent,
          engine: service.engine,
          store,
          cards: service.cards,
          push,
          service,
          url: options.url ?? 'http://localhost',
          closing: closing.signal,
          route: (...how) => routes.add(channel, ...how),
          guard(request, response) {
            refuseForeignPages(request, response, corsOrigins);
            if (shared.hostNames !== undefined) refuseForeignNames(request, shared.hostNames);
          },
        };
        mounted.push(await channel.mount(host));
      }
      const { engine, cards, auth } = service;
      made.push({ handler: createHandler(service, handling), engine, cards, auth, service });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { agents: made, closing: closing.signal, store, push, readiness, drain, close };
}

/**
 * An agent's endpoints without a server of their own.
 * @example
 * const endpoints: Router = await router(agent, { url: 'https://example.com/agent' });
 * process.once('SIGTERM', () => {
 *   endpoints.leave();
 *   void endpoints.close({ graceMs: 10_000 });
 * });
 */
export interface Router
  extends AsyncDisposable, AgentEndpoints, Pick<Endpoints, 'store' | 'push' | 'drain' | 'close'> {
  readonly handler: MountableHandler;
  /**
   * From now on `/ready` says no and every response closes its connection; everything else is served
   * as before.
   */
  leave(): void;
}

/**
 * The endpoints of an agent as a handler, for a server or framework you have already.
 * @example
 * const { handler } = await router(agent, { url: 'https://example.com/agent' });
 * express().use('/agent', handler);
 * await fastify().register(handler.fastify, { prefix: '/agent' });
 * new Hono().mount('/agent', handler.fetch);
 */
export async function router(agent: Agent, options: RouterOptions = {}): Promise<Router> {
  const { agents, store, push, readiness, drain, close } = await openEndpoints(
    [{ agent, options }],
    options,
  );
  const [endpoints] = agents;
  if (endpoints === undefined) throw new TypeError('the agent has no endpoints');
  return {
    ...endpoints,
    handler: mountable((request, response) => {
      if (readiness.isLeaving) response.setHeader('connection', 'close');
      endpoints.handler(request, response);
    }, options.url),
    store,
    push,
    leave: () => readiness.leave(),
    drain,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** The channels that options ask for, loaded only where they are wanted. */
async function ownChannels({ mcp = false, chat = false }: HttpOptions): Promise<Channel[]> {
  const channels: Channel[] = [];
  if (mcp !== false) {
    const { mcpChannel } = await import('./mcp-channel.ts');
    channels.push(mcpChannel(checkPath('mcp.path', mcp === true ? '/mcp' : mcp.path)));
  }
  if (chat !== false) {
    const { chatChannel } = await import('./chat/chat-channel.ts');
    channels.push(chatChannel(checkPath('chat.path', chat === true ? '/chat' : chat.path)));
  }
  return channels;
}

function checkPath(option: string, path: string): string {
  if (/^\/[^?#\s{}]*$/.test(path)) return path;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `${option} ${JSON.stringify(path)} is not a path; write one like /a2a`,
  );
}

async function dispose(mounted: AsyncDisposable | Disposable | void): Promise<void> {
  if (mounted === undefined) return;
  if (Symbol.asyncDispose in mounted) await mounted[Symbol.asyncDispose]();
  else mounted[Symbol.dispose]();
}
