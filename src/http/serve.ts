import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Agent } from '../agents/index.ts';
import { type ListenOptions, openServer } from './http-server.ts';
import type { InspectorDoor, InspectorOptions } from './inspector/index.ts';
import type { RouterOptions } from './router-options.ts';
import { type Router, router } from './router.ts';

/**
 * Everything about an agent that is served, and about the port.
 * @example const options: ServeOptions = { port: 8000, store: { type: 'sqlite', path: 'tasks.db' }, push: {} };
 */
export interface ServeOptions extends RouterOptions, ListenOptions {
  /**
   * Shows what goes on as a page below `/inspect`: to whoever opens `inspectorUrl` of the server, and
   * to callers that may look. @default false
   */
  inspect?: boolean | InspectorOptions;
}

/**
 * A running server.
 * @example
 * const server: Serving = await serve(agent);
 * const client = await connect(server.url); // such as http://localhost:41873
 * await server.close();
 */
export interface Serving extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly server: Server | SecureServer;
  readonly router: Router;
  /** The link that opens the inspector, with its token; undefined without `inspect`. */
  readonly inspectorUrl?: string;
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
  const isAuthenticated = options.auth?.isOpen === false;
  const inspector = await inspectorOf(options);
  const opened = await openServer({ ...options, isAuthenticated });
  const { url, port, server, isLocalOnly, hostNames } = opened;
  const made = await router(agent, {
    isLocalOnly,
    ...(hostNames !== undefined && { hostNames }),
    ...routerOptionsOf(options),
    ...(inspector !== undefined && { before: either(inspector.handle, options.before) }),
    url,
  }).catch(async (error: unknown) => {
    await opened.close(async () => undefined);
    throw error;
  });
  const { service, store, push } = made;
  inspector?.open({ agents: [{ name: agent.name, service }], store, push });
  opened.handle(made.handler);
  let closed: Promise<void> | undefined;
  const shutDown = async (): Promise<void> => {
    made.leave();
    await opened.leave();
    inspector?.close();
    try {
      await opened.close((grace) => made.drain(grace));
    } finally {
      await made.close();
    }
  };
  const close = (): Promise<void> => (closed ??= shutDown());
  return {
    url,
    port,
    server,
    router: made,
    ...(inspector !== undefined && { inspectorUrl: inspector.link(url) }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Loaded only where it is wanted. */
async function inspectorOf({ inspect = false }: ServeOptions): Promise<InspectorDoor | undefined> {
  if (inspect === false) return undefined;
  const { inspectorDoor } = await import('./inspector/index.ts');
  return inspectorDoor(inspect === true ? {} : inspect);
}

type Before = NonNullable<RouterOptions['before']>;

/** Asks the first, and the second for what it does not answer. */
export function either(first: Before, second: Before | undefined): Before {
  if (second === undefined) return first;
  return async (...call) => (await first(...call)) || second(...call);
}

/** The options without those that are about the port. */
function routerOptionsOf(options: ServeOptions): RouterOptions {
  const {
    port: _port,
    host: _host,
    tls: _tls,
    hstsSeconds: _hstsSeconds,
    connections: _connections,
    dangerouslyAllowUnauthenticatedRemote: _dangerously,
    hosts: _hosts,
    drainMs: _drainMs,
    noticeMs: _noticeMs,
    inspect: _inspect,
    ...rest
  } = options;
  return rest;
}
