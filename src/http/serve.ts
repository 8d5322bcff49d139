import { createServer, type Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Agent } from '../agents/index.ts';
import { checkBind } from '../auth/index.ts';
import { LegateError } from '../protocol/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import type { Handler } from './handler.ts';
import { type Router, router, type RouterOptions } from './router.ts';
import { type TlsFiles, tlsServer } from './tls.ts';

export interface ServeOptions extends RouterOptions {
  /** @default 0, any free port */
  port?: number;
  /** @default '127.0.0.1' */
  host?: string;
  /** Serves HTTPS. */
  tls?: TlsFiles;
  /** Listens where others can reach without asking who they are. @default false */
  dangerouslyAllowUnauthenticatedRemote?: boolean;
  /** How long turns may take to end by themselves when the server stops, in milliseconds. @default 10_000 */
  drainMs?: number;
}

/** A running server. */
export interface Serving extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly server: Server | SecureServer;
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
  const { port = 0, host = '127.0.0.1', drainMs = 10_000, tls, ...rest } = options;
  const { dangerouslyAllowUnauthenticatedRemote = false, ...routerOptions } = rest;
  checkBind({
    host,
    isAuthenticated: options.auth?.isOpen === false,
    dangerouslyAllowUnauthenticatedRemote,
  });
  let handler: Handler = (_request, response) => void response.writeHead(503).end();
  const listener: Handler = (request, response) => handler(request, response);
  const secure =
    tls === undefined ? undefined : tlsServer(tls, listener, options.logger ?? silentLogger);
  const server = secure?.server ?? createServer({ keepAliveTimeout: 65_000 }, listener);
  await listen(server, port, host);
  const address = server.address() as AddressInfo;
  const url = options.url ?? addressOf(host, address.port, secure !== undefined);
  let made: Router;
  try {
    made = await router(agent, { ...routerOptions, url });
  } catch (error) {
    secure?.stop();
    server.close();
    throw error;
  }
  ({ handler } = made);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= shutDown(server, made, drainMs).finally(() => secure?.stop()));
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
async function shutDown(
  server: Server | SecureServer,
  made: Router,
  drainMs: number,
): Promise<void> {
  const isClosed = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeIdleConnections();
  await made.close({ graceMs: drainMs });
  server.closeIdleConnections();
  // Answers that are being written get a moment; a client that does not read must not hold us.
  const timer = setTimeout(() => server.closeAllConnections(), 1_000);
  await isClosed;
  clearTimeout(timer);
}

/** The address to show: a server that listens everywhere is reached here by its local name. */
function addressOf(host: string, port: number, isSecure: boolean): string {
  const isLocal = ['0.0.0.0', '::', '127.0.0.1'].includes(host);
  const shown = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${shown}:${port}`;
}

function listen(server: Server | SecureServer, port: number, host: string): Promise<void> {
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
