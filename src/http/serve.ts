import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Agent } from '../agents/index.ts';
import type { ListenOptions } from './http-server.ts';
import { listenFor } from './listen.ts';
import type { InspectorChannel, InspectorOptions } from './inspector/index.ts';
import type { RouterOptions } from './options.ts';
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
  const { inspectorChannel } = await import('./inspector/index.ts');
  return inspectorChannel(inspect === true ? {} : inspect);
}
