import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { type Agent, checkAgent } from '../agents/index.ts';
import { checkOptions, type OptionNames } from '../protocol/index.ts';
import { openRouter, type Router } from './endpoints.ts';
import type { Handler } from './handler.ts';
import {
  type HttpServer,
  type ListenOptions,
  listenOptionNames,
  openServer,
} from './http-server.ts';
import type { InspectorChannel } from './inspector/inspector-channel.ts';
import { type InspectorOptions, inspectorOptionNames } from './inspector/options.ts';
import { type RouterOptions, routerOptionNames } from './options.ts';
import type { Drain } from './shut-down.ts';

/**
 * All options of a served agent and its port.
 * @example const options: ServeOptions = { port: 8000, store: { type: 'sqlite', path: 'tasks.db' }, push: {} };
 */
export interface ServeOptions extends RouterOptions, ListenOptions {
  /**
   * Serves the inspector below `/inspect`: for users with the link `inspectorUrl` of the server,
   * and for callers with the permission to inspect.
   * @default false
   */
  inspect?: boolean | InspectorOptions;
}

const optionNames: OptionNames<ServeOptions> = {
  ...routerOptionNames,
  ...listenOptionNames,
  inspect: { oneOf: ['boolean', { names: inspectorOptionNames }] },
};

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

/** The URLs of agents that this process serves with `serve`. */
const serving = new Map<Agent, string>();

/**
 * The URL at which this process serves an agent with `serve`; of any agent if none is given.
 * @example const isServed = servedAt(agent) !== undefined;
 */
export function servedAt(agent?: Agent): string | undefined {
  return agent === undefined ? [...serving.values()].at(-1) : serving.get(agent);
}

/**
 * Serves an agent over HTTP until closed.
 * @example
 * await using server = await serve(agent({ name: 'echo' }, async function* (turn) {
 *   yield artifact(textOf(turn.message));
 * }), { port: 8080 });
 */
export async function serve(agent: Agent, options: ServeOptions = {}): Promise<Serving> {
  checkAgent('serve', agent);
  checkOptions('serve', options, optionNames);
  const isAuthenticated = options.auth?.isOpen === false;
  const inspector = await inspectorOf(options);
  const { channels = [] } = options;
  const {
    made,
    close: end,
    ...listening
  } = await listenFor({ ...options, isAuthenticated }, ({ url, isLocalOnly, hostNames }) =>
    openRouter(agent, {
      isLocalOnly,
      showErrors: isDevelopment(isLocalOnly),
      ...options,
      ...(hostNames !== undefined && { hostNames }),
      url,
      ...(inspector !== undefined && { channels: [inspector, ...channels] }),
    }),
  );
  serving.set(agent, listening.url);
  const close = (): Promise<void> => {
    serving.delete(agent);
    return end();
  };
  return {
    ...listening,
    router: made,
    ...(inspector !== undefined && { inspectorUrl: inspector.link(listening.url) }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The default of `showErrors`: whether callers get the error of a failed agent. */
export function isDevelopment(isLocal: boolean): boolean {
  return isLocal && process.env['NODE_ENV'] !== 'production';
}

/** Loads the inspector on demand. */
async function inspectorOf({
  inspect = false,
}: ServeOptions): Promise<InspectorChannel | undefined> {
  if (inspect === false) return undefined;
  const { inspectorChannel } = await import('./inspector/inspector-channel.ts');
  return inspectorChannel(inspect === true ? {} : inspect);
}

/** The handler of a port, with its lifecycle. */
export interface Listener {
  readonly handler: Handler;
  /** From now on `/ready` answers 503. */
  leave(): void;
  readonly drain: Drain;
  close(): Promise<void>;
}

/** An open port and its handler. */
export interface Listening<T> extends Pick<HttpServer, 'url' | 'port' | 'server'> {
  readonly made: T;
  readonly close: () => Promise<void>;
}

/** Opens the port, then its handler. `close` closes both. */
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
