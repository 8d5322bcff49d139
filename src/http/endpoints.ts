import { type Agent, checkAgent } from '../agents/index.ts';
import { checkOptions } from '../protocol/index.ts';
import {
  type AgentOptions,
  openServices,
  type Services,
  type SharedOptions,
} from '../service/index.ts';
import { type AgentEndpoints, mountAgent, type Mounting, release } from './agent-endpoints.ts';
import type { MountedChannel } from './channel.ts';
import { mountable, type MountableHandler } from './mount.ts';
import { MetricsEndpoint } from './metrics-endpoint.ts';
import { type HttpOptions, type RouterOptions, routerOptionNames } from './options.ts';
import type { Drain } from './shut-down.ts';

/** Agents of one process on HTTP. */
export interface Endpoints extends Pick<Services, 'store' | 'push' | 'readiness'> {
  /** In the order of the agents. */
  readonly agents: readonly AgentEndpoints[];
  readonly closing: AbortSignal;
  /**
   * Waits up to `graceMs` for turns to end, then hands over the remaining turns. Streams end with their
   * turns. The remaining streams get a last comment.
   */
  readonly drain: Drain;
  /** Drains and releases all resources. @default graceMs 0 */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>;
}

/** Starts agents and their HTTP endpoints. */
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
    // Prometheus shows the metrics of the whole process. Bus, peers and models record them by OpenTelemetry.
    metrics === undefined ? shared : { ...shared, telemetry: shared.telemetry ?? {} },
  );
  const { store, push, readiness, telemetry } = services;
  const metricsEndpoint =
    metrics === undefined || telemetry === undefined
      ? undefined
      : new MetricsEndpoint(telemetry, metrics);
  const closing = new AbortController();
  const mounted: MountedChannel[] = [];
  const mounting: Mounting = {
    store,
    push,
    isReady: () => readiness.check(),
    closing: closing.signal,
    metricsEndpoint,
    ...(shared.hostNames !== undefined && { hostNames: shared.hostNames }),
    mounted,
  };
  const made: AgentEndpoints[] = [];
  const drain: Endpoints['drain'] = async (grace) => {
    const released = await release(mounted, grace);
    try {
      await services.drain(grace);
    } finally {
      closing.abort();
      await released();
    }
  };
  const closeAll = async (graceMs: number): Promise<void> => {
    readiness.leave();
    try {
      await drain({ graceMs });
    } finally {
      await services.close();
    }
  };
  let closed: Promise<void> | undefined;
  const close: Endpoints['close'] = ({ graceMs = 0 } = {}) => (closed ??= closeAll(graceMs));
  try {
    for (const [index, { agent, options }] of agents.entries()) {
      const base = services.services[index];
      if (base === undefined) throw new TypeError(`agent ${agent.name} has no service`);
      made.push(await mountAgent(agent, base, options, mounting));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { agents: made, closing: closing.signal, store, push, readiness, drain, close };
}

/**
 * An agent's endpoints without a server.
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
   * From now on `/ready` answers 503 and every response closes its connection. All other requests are
   * served as before.
   */
  leave(): void;
}

/**
 * The endpoints of an agent as a handler, for an existing server or framework.
 * @example
 * const { handler } = await router(agent, { url: 'https://example.com/agent' });
 * express().use('/agent', handler);
 * await fastify().register(handler.fastify, { prefix: '/agent' });
 * new Hono().mount('/agent', handler.fetch);
 */
export async function router(agent: Agent, options: RouterOptions = {}): Promise<Router> {
  checkAgent('router', agent);
  checkOptions('router', options, routerOptionNames);
  return openRouter(agent, options);
}

/** Like `router`, for options that the caller has checked. */
export async function openRouter(agent: Agent, options: RouterOptions): Promise<Router> {
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
