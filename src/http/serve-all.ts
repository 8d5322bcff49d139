import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { type Agent, checkAgent } from '../agents/index.ts';
import { checkOptions, invalidConfiguration, type OptionNames } from '../protocol/index.ts';
import {
  type AgentOptions,
  agentOptionNames,
  type PushService,
  type SharedOptions,
  sharedOptionNames,
} from '../service/index.ts';
import type { Store } from '../store/index.ts';
import { cataloguePath, sendCatalogue } from './card.ts';
import type { Channel } from './channel.ts';
import type { AgentEndpoints } from './agent-endpoints.ts';
import { openEndpoints } from './endpoints.ts';
import { createHandler } from './handler.ts';
import { type ListenOptions, listenOptionNames } from './http-server.ts';
import {
  type HttpOptions,
  httpOptionNames,
  type HttpSharedOptions,
  routerOptionNames,
} from './options.ts';
import { authenticateRequest } from './request.ts';
import { ChannelRoutes } from './routes.ts';
import { isDevelopment, listenFor } from './serve.ts';

/** An agent with the options that it does not share with the other agents. */
export interface ServedAgent
  extends Omit<AgentOptions, 'url' | 'auth' | 'protectsCard'>, Omit<HttpOptions, 'cors'> {
  readonly agent: Agent;
}

/**
 * Options that all agents share. All agents accept the same callers; the scopes of a caller decide which
 * skills it can use.
 * @example
 * const options: ServeAllOptions = {
 *   port: 8080,
 *   url: 'https://agents.example.com', // the card of `orders` then says https://agents.example.com/orders
 *   callerLimits: { requestsPerSecond: 20 },
 * };
 */
export interface ServeAllOptions
  extends
    SharedOptions,
    HttpSharedOptions,
    ListenOptions,
    Pick<AgentOptions, 'auth' | 'protectsCard'>,
    Pick<HttpOptions, 'cors'> {
  /** The root URL for callers, without a trailing slash. @default the address listened on */
  url?: string;
}

const { url: atRoot, auth: forAll, protectsCard: protectsAll, ...ofAgent } = agentOptionNames;
const { cors: ofAll, ...overHttp } = httpOptionNames;
const optionNames: OptionNames<ServeAllOptions> = {
  ...sharedOptionNames,
  ...listenOptionNames,
  prometheus: routerOptionNames.prometheus,
  url: atRoot,
  auth: forAll,
  protectsCard: protectsAll,
  cors: ofAll,
};
const servedNames: OptionNames<ServedAgent> = { agent: 'object', ...ofAgent, ...overHttp };

/**
 * A running server of several agents.
 * @example
 * const server: ServingAll = await serveAll({ orders, billing }, { port: 8080 });
 * server.agents.get('orders')?.cards.current.skills; // of the agent at /orders
 */
export interface ServingAll extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly server: Server | SecureServer;
  readonly store: Store;
  readonly push: PushService | undefined;
  /** By name. */
  readonly agents: ReadonlyMap<string, AgentEndpoints>;
  close(): Promise<void>;
}

/** Safe in a path, a URN and a log. Starts with a letter or digit, so that `.well-known` does not match. */
const usableName = /^[a-z0-9][a-z0-9._~-]{0,62}$/i;
const reserved = new Set(['health', 'ready', 'metrics', 'v1']);

/**
 * Serves several agents on one port and one store: each below `/{name}` with its own card, and a
 * catalogue at `/.well-known/ai-catalog.json`.
 * @example
 * await using server = await serveAll({ orders, billing: { agent: billing, cardKeys } }, { port: 8080 });
 */
export async function serveAll(
  agents: Readonly<Record<string, Agent | ServedAgent>>,
  options: ServeAllOptions = {},
): Promise<ServingAll> {
  const served = Object.entries(agents).map(([name, entry]): [string, ServedAgent] => [
    name,
    'take' in entry ? { agent: entry } : entry,
  ]);
  checkOptions('serveAll', options, optionNames);
  for (const [name, each] of served) {
    checkAgent(`serveAll: "${name}"`, each.agent);
    checkOptions(`serveAll: "${name}"`, each, servedNames, ['agent']);
  }
  checkNames(served);
  const { auth, protectsCard = false, cors = [] } = options;
  const isAuthenticated = auth?.isOpen === false;
  const { made, close, ...listening } = await listenFor({ ...options, isAuthenticated }, (server) =>
    openAll(served, { ...options, protectsCard, cors }, server),
  );
  const { store, push, agents: opened } = made;
  return { ...listening, store, push, agents: opened, close, [Symbol.asyncDispose]: close };
}

/** Mounts the endpoints of each agent below `/{name}`, and the catalogue and health at the root. */
async function openAll(
  served: readonly (readonly [string, ServedAgent])[],
  options: ServeAllOptions & Required<Pick<ServeAllOptions, 'protectsCard' | 'cors'>>,
  { url, isLocalOnly, hostNames }: Parameters<Parameters<typeof listenFor>[1]>[0],
) {
  const { auth, protectsCard, cors } = options;
  const agents = served.map(([name, { agent, ...own }]) => ({
    agent,
    options: {
      showErrors: isDevelopment(isLocalOnly),
      ...own,
      ...(auth !== undefined && { auth }),
      protectsCard,
      cors,
      url: `${url}/${name}`,
    },
  }));
  const endpoints = await openEndpoints(agents, {
    isLocalOnly,
    ...options,
    ...(hostNames !== undefined && { hostNames }),
  });
  const { readiness, closing, drain, close, store, push } = endpoints;
  const named = new Map(
    endpoints.agents.map((each, index) => [served[index]?.[0] ?? '', each] as const),
  );
  // Auth, audit and limits are the same for all agents, so the root uses the service of the first one.
  const [first] = endpoints.agents;
  if (first === undefined) throw invalidConfiguration('there is no agent to serve');
  const { service } = first;
  const host = new URL(url).hostname;
  const listed = Array.from(named, ([name, { cards }]) => ({ name, url: `${url}/${name}`, cards }));
  const routes = new ChannelRoutes();
  const root: Channel = { name: 'root', mount: () => undefined };
  for (const [name, { handler }] of named) {
    for (const path of [`/${name}`, `/${name}/*`]) {
      routes.delegate(root, path, ({ request, response }) => {
        // Like frameworks that mount handlers below a path.
        const rest = (request.url ?? '').slice(name.length + 1);
        request.url = rest.startsWith('/') ? rest : `/${rest}`;
        handler(request, response);
      });
    }
  }
  routes.add(root, 'GET', cataloguePath, async ({ request, response, query }) => {
    if (protectsCard) await authenticateRequest(service, request, response, query);
    sendCatalogue(request, response, { host, agents: listed, isProtected: protectsCard });
  });
  const handler = createHandler(service, {
    closing,
    isReady: () => readiness.check(),
    channels: routes,
    rpcPath: '/',
    cardPath: undefined,
    hasA2a: false,
    index: cataloguePath,
  });
  return { handler, agents: named, leave: () => readiness.leave(), drain, close, store, push };
}

function checkNames(served: readonly (readonly [string, ServedAgent])[]): void {
  if (served.length === 0) throw invalidConfiguration('there is no agent to serve');
  const owners = new Map<string, string>();
  for (const [name, { agent }] of served) {
    if (!usableName.test(name) || reserved.has(name.toLowerCase())) {
      throw invalidConfiguration(
        `${JSON.stringify(name)} cannot be the path of an agent; use letters, digits, ".", "_" and "-"`,
      );
    }
    // The store keys tasks by the agent's own name, not by its path.
    const other = owners.get(agent.name);
    if (other !== undefined) {
      throw invalidConfiguration(
        `the agents at /${other} and /${name} are both called ${agent.name}, and would share their tasks; rename one`,
      );
    }
    owners.set(agent.name, name);
  }
}
