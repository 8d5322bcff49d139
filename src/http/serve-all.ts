import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Agent } from '../agents/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { Store } from '../store/index.ts';
import { type AgentDoors, openDoors } from './agent-doors.ts';
import { createAgentsHandler } from './agents-handler.ts';
import { type ListenOptions, openServer } from './http-server.ts';
import type { PushService } from './push-service.ts';
import type { AgentOptions, SharedOptions } from './router-options.ts';
import { openShared } from './shared.ts';

/** An agent with what it does not share with the others. */
export interface ServedAgent extends Omit<AgentOptions, 'url' | 'auth' | 'protectsCard' | 'cors'> {
  readonly agent: Agent;
}

/**
 * What holds for all agents. Who may call is the same for all of them; what each caller may use, its
 * scopes tell.
 * @example
 * const options: ServeAllOptions = {
 *   port: 8080,
 *   url: 'https://agents.example.com', // the card of `orders` then says https://agents.example.com/orders
 *   callerLimits: { requestsPerSecond: 20 },
 * };
 */
export interface ServeAllOptions
  extends SharedOptions, ListenOptions, Pick<AgentOptions, 'auth' | 'protectsCard' | 'cors'> {
  /** Where callers reach the root, without a slash at the end. @default where the server listens */
  url?: string;
}

/**
 * Several agents that are being served.
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
  readonly agents: ReadonlyMap<string, AgentDoors>;
  close(): Promise<void>;
}

/** Safe in a path, a URN and a log; begins with a letter or digit, so that no well-known path fits. */
const usableName = /^[a-z0-9][a-z0-9._~-]{0,62}$/i;
const reserved = new Set(['health', 'ready', 'metrics', 'v1']);

/**
 * Serves several agents on one port and one store: each below `/{name}` with a card of its own, and a
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
  checkNames(served);
  const { auth, protectsCard, cors } = options;
  const common = {
    ...(auth !== undefined && { auth }),
    ...(protectsCard !== undefined && { protectsCard }),
    ...(cors !== undefined && { cors }),
  };
  const opened = await openServer({ ...options, isAuthenticated: auth?.isOpen === false });
  const { url, port, server, isLocalOnly } = opened;
  const shared = await openShared({ isLocalOnly, ...options }).catch(async (error: unknown) => {
    await opened.close(async () => undefined);
    throw error;
  });
  const doors = new Map<string, AgentDoors>();
  const drain: AgentDoors['drain'] = async (grace) => {
    await Promise.all(Array.from(doors.values(), (each) => each.drain(grace)));
  };
  const stop = async (): Promise<void> => {
    // The claims of webhooks end with the replica, so they are settled before it retires.
    await shared.push?.stop();
    for (const { engine } of doors.values()) await engine.stop();
    await shared.close();
  };
  try {
    for (const [name, { agent, ...own }] of served) {
      const replica = doors.size === 0 ? shared.replica : shared.scheduler.uuid();
      const place = { ...own, ...common, url: `${url}/${name}` };
      doors.set(name, await openDoors(agent, place, shared, replica));
    }
  } catch (error) {
    await opened.close(() => drain({ graceMs: 0 }));
    await stop();
    throw error;
  }
  shared.push?.start();
  opened.handle(createAgentsHandler({ doors, url, isReady: () => shared.readiness.check() }));
  let closed: Promise<void> | undefined;
  const shutDown = async (): Promise<void> => {
    shared.readiness.leave();
    await opened.leave();
    try {
      await opened.close(drain);
    } finally {
      await stop();
    }
  };
  const close = (): Promise<void> => (closed ??= shutDown());
  const { store, push } = shared;
  return { url, port, server, store, push, agents: doors, close, [Symbol.asyncDispose]: close };
}

function checkNames(served: readonly (readonly [string, ServedAgent])[]): void {
  if (served.length === 0) throw invalid('there is no agent to serve');
  const owners = new Map<string, string>();
  for (const [name, { agent }] of served) {
    if (!usableName.test(name) || reserved.has(name.toLowerCase())) {
      throw invalid(
        `${JSON.stringify(name)} cannot be the path of an agent; use letters, digits, ".", "_" and "-"`,
      );
    }
    // What an agent keeps is kept under its own name, whatever its path.
    const other = owners.get(agent.name);
    if (other !== undefined) {
      throw invalid(
        `the agents at /${other} and /${name} are both called ${agent.name}, and would share their tasks; rename one`,
      );
    }
    owners.set(agent.name, name);
  }
}

function invalid(message: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message);
}
