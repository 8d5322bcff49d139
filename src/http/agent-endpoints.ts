import type { Agent } from '../agents/index.ts';
import type { Authenticator } from '../auth/index.ts';
import { invalidConfiguration } from '../protocol/index.ts';
import {
  type AgentOptions,
  type Cards,
  NetworkExposure,
  type PushService,
  type Service,
} from '../service/index.ts';
import type { Store } from '../store/index.ts';
import type { Engine } from '../tasks/index.ts';
import type { Channel, ChannelHost, MountedChannel } from './channel.ts';
import { createHandler, type Handler, type HandlerOptions } from './handler.ts';
import type { MetricsEndpoint } from './metrics-endpoint.ts';
import type { HttpOptions, HttpService } from './options.ts';
import { refuseForeignNames, refuseForeignPages } from './request-guard.ts';
import { ChannelRoutes } from './routes.ts';
import type { Drain } from './shut-down.ts';

/** One agent on HTTP, without a server of its own. */
export interface AgentEndpoints {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly cards: Cards;
  /** Authenticates callers. */
  readonly auth: Authenticator;
  /** For other transports that serve the same agent. */
  readonly service: HttpService;
}

/** What the endpoints of all agents of one server share. */
export interface Mounting extends Pick<HandlerOptions, 'isReady' | 'closing'> {
  readonly store: Store;
  readonly push: PushService | undefined;
  readonly metricsEndpoint: MetricsEndpoint | undefined;
  readonly hostNames?: readonly string[];
  /** `mountAgent` appends the mounted channels. The owner of the list releases them. */
  readonly mounted: MountedChannel[];
}

/** Mounts the channels of an agent and creates its handler. */
export async function mountAgent(
  agent: Agent,
  base: Service,
  options: Pick<AgentOptions, 'url' | 'rpcPath'> & HttpOptions,
  mounting: Mounting,
): Promise<AgentEndpoints> {
  const { store, push, isReady, closing, metricsEndpoint, hostNames, mounted } = mounting;
  const {
    cors: corsOrigins = [],
    setsContextHints = false,
    compatibility,
    channels: given = [],
    a2a = true,
    rpcPath = '/',
    cardPath,
  } = options;
  const service: HttpService = {
    ...base,
    corsOrigins,
    setsContextHints,
    metricsEndpoint,
    compatibility,
  };
  const channels = [...given, ...(await ownChannels(options))];
  const routes = new ChannelRoutes();
  const handling: HandlerOptions = {
    closing,
    isReady,
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
      closing,
      route: (...how) => routes.add(channel, ...how),
      guard(request, response) {
        refuseForeignPages(request, response, corsOrigins);
        if (hostNames !== undefined) refuseForeignNames(request, hostNames);
      },
    };
    mounted.push(await channel.mount(host));
  }
  const { engine, cards, auth } = service;
  return { handler: createHandler(service, handling), engine, cards, auth, service };
}

/**
 * Disposes of channels in reverse order, of all even if some fail. The returned function waits for the
 * drains of transports, which are running, and throws the first failure.
 */
export async function release(
  mounted: MountedChannel[],
  grace: Parameters<Drain>[0],
): Promise<() => Promise<void>> {
  const ends: Promise<void>[] = [];
  for (const channel of mounted.splice(0).toReversed()) {
    const end = dispose(channel, grace);
    ends.push(end);
    const isTransport = channel !== undefined && 'drain' in channel;
    if (!isTransport) await Promise.allSettled([end]);
  }
  const settled = Promise.allSettled(ends);
  return async () => {
    await settled;
    await Promise.all(ends);
  };
}

/** Channels of an agent that another transport serves, such as the bus. */
export interface ChannelsOptions {
  readonly service: Service;
  readonly store: Store;
  readonly channels: readonly Channel[];
  readonly isReady: HandlerOptions['isReady'];
  /** The URL of the port. */
  readonly url: string;
  /** Whether only this machine can reach the port. */
  readonly isLocalOnly: boolean;
}

/**
 * Opens the channels of an agent without A2A endpoints, on the agent's existing engine and store. Close
 * them before the turns are drained.
 */
export async function openChannels(
  agent: Agent,
  { service, store, channels, isReady, url, isLocalOnly }: ChannelsOptions,
): Promise<AsyncDisposable & { readonly handler: Handler }> {
  const closing = new AbortController();
  const mounted: MountedChannel[] = [];
  const close = async (): Promise<void> => {
    const released = await release(mounted, { graceMs: 0 });
    closing.abort();
    await released();
  };
  const mounting: Mounting = {
    store,
    push: undefined,
    isReady,
    closing: closing.signal,
    metricsEndpoint: undefined,
    ...(isLocalOnly && { hostNames: [] }),
    mounted,
  };
  const base = { ...service, exposure: new NetworkExposure(isLocalOnly) };
  try {
    const { handler } = await mountAgent(agent, base, { a2a: false, channels, url }, mounting);
    return { handler, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The MCP and chat channels that the options enable, loaded on demand. */
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
  throw invalidConfiguration(
    `${option} ${JSON.stringify(path)} is not a path; write one like /a2a`,
  );
}

async function dispose(mounted: MountedChannel, grace: Parameters<Drain>[0]): Promise<void> {
  if (mounted === undefined) return;
  if ('drain' in mounted) await mounted.drain(grace);
  else if (Symbol.asyncDispose in mounted) await mounted[Symbol.asyncDispose]();
  else mounted[Symbol.dispose]();
}
