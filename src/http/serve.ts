import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Agent } from '../agents/index.ts';
import { type Router, router } from './endpoints.ts';
import type { Handler } from './handler.ts';
import { type HttpServer, type ListenOptions, openServer } from './http-server.ts';
import type { InspectorChannel } from './inspector/inspector-channel.ts';
import type { InspectorOptions } from './inspector/options.ts';
import type { RouterOptions } from './options.ts';
import type { Drain } from './shut-down.ts';

/**
 * Everything about an agent that is served, and about the port.
 * @example const options: ServeOptions = { port: 8000, store: { type: 'sqlite', path: 'tasks.db' }, push: {} };
 */
export interface ServeOptions extends RouterOptions, ListenOptions {
  /**
   * Shows what goes on as a page below `/inspect`: to users who open `inspectorUrl` of the server, and
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
  const { channels = [] } = options;
  const { made, close, ...listening } = await listenFor(
    { ...options, isAuthenticated },
    ({ url, isLocalOnly, hostNames }) =>
      router(agent, {
        isLocalOnly,
        ...options,
        ...(hostNames !== undefined && { hostNames }),
        url,
        ...(inspector !== undefined && { channels: [inspector, ...channels] }),
      }),
  );
  return {
    ...listening,
    router: made,
    ...(inspector !== undefined && { inspectorUrl: inspector.link(listening.url) }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Loaded only where it is wanted. */
async function inspectorOf({
  inspect = false,
}: ServeOptions): Promise<InspectorChannel | undefined> {
  if (inspect === false) return undefined;
  const { inspectorChannel } = await import('./inspector/inspector-channel.ts');
  return inspectorChannel(inspect === true ? {} : inspect);
}

/** What answers on a port. */
export interface Listener {
  readonly handler: Handler;
  /** From now on it is not ready. */
  leave(): void;
  readonly drain: Drain;
  close(): Promise<void>;
}

/** A port, and what answers on it. */
export interface Listening<T> extends Pick<HttpServer, 'url' | 'port' | 'server'> {
  readonly made: T;
  readonly close: () => Promise<void>;
}

/** Opens the port, then what answers on it; they are closed together. */
export async function listenFor<T extends Listener>(
  options: Parameters<typeof openServer>[0],
  open: (server: Pick<HttpServer, 'url' | 'isLocalOnly' | 'hostNames'>) => Promise<T>,
): Promise<Listening<T>> {
  const opened = await openServer(options);
  const { url, port, server, isLocalOnly: isLocal, hostNames } = opened;
  const made = await open({ url, isLocalOnly: isLocal, hostNames }).catch(
    async (error: unknown) => {
      await opened.close(async () => undefined);
      throw error;
    },
  );
  opened.handle(made.handler);
  const shutDownAll = async (): Promise<void> => {
    made.leave();
    await opened.leave();
    try {
      await opened.close((grace) => made.drain(grace));
    } finally {
      await made.close();
    }
  };
  let closed: Promise<void> | undefined;
  return { url, port, server, made, close: () => (closed ??= shutDownAll()) };
}
