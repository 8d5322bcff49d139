import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { checkBind, isLocalOnly, isLoopbackHost } from '../auth/index.ts';
import { invalidConfiguration, type OptionNames, toRestError } from '../protocol/index.ts';
import { AuditLog, readTls, type TlsFiles, watchTls } from '../service/index.ts';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import { sleep } from '../time/index.ts';
import type { Handler } from './handler.ts';
import { answerMalformed, refuseBeforeStart } from './malformed-request.ts';
import { normalizeTarget, refuseAmbiguousHost, refuseForeignNames } from './request-guard.ts';
import { reportError, sendJson } from './respond.ts';
import { type Drain, OpenResponses, shutDown } from './shut-down.ts';

/** Limits for connections of unauthenticated clients. */
export interface ConnectionLimits {
  /** Timeout for receiving the headers of a request, in milliseconds. @default 15_000 */
  readonly headersTimeoutMs: number;
  /**
   * Timeout for receiving a whole request, in milliseconds. `limits.bodyTimeoutMs` limits the body
   * alone, with a more specific error. @default 60_000
   */
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept, in milliseconds. @default 65_000 */
  readonly keepAliveMs: number;
  /** Maximum number of connections; the server closes further ones immediately. @default 10_000 */
  readonly max: number;
}

export interface ListenOptions {
  /** The port. @default 0, any free port */
  port?: number;
  /** The address to listen on; non-loopback addresses need `auth`. @default '127.0.0.1' */
  host?: string;
  /** Serves HTTPS. */
  tls?: TlsFiles;
  /** `max-age` of `Strict-Transport-Security`, in seconds; 0 for no header. @default 31_536_000 */
  hstsSeconds?: number;
  /** Limits for connections, see `ConnectionLimits`. */
  connections?: Partial<ConnectionLimits>;
  /** Listens on non-loopback addresses without authentication. @default false */
  dangerouslyAllowUnauthenticatedRemote?: boolean;
  /**
   * Host names that clients on this machine use for the server, besides localhost and the host of
   * `url`. The server checks them when it listens on a loopback address and does not authenticate
   * callers. Otherwise a web page could reach it by DNS rebinding. @default []
   */
  hosts?: readonly string[];
  /**
   * How long the server waits for turns to end when it shuts down, in milliseconds. It hands over longer
   * turns to another replica, or fails them as interrupted. @default 20_000
   */
  drainMs?: number;
  /**
   * How long `/ready` answers 503 before the port closes, in milliseconds. The server still serves all
   * requests in this time. Set it longer than load balancers need to react.
   * @default 5_000 when `/ready` was requested twice within the last minute, otherwise 0
   */
  noticeMs?: number;
}

const connectionNames: OptionNames<ConnectionLimits> = {
  headersTimeoutMs: 'number',
  requestTimeoutMs: 'number',
  keepAliveMs: 'number',
  max: 'number',
};
const tlsNames: OptionNames<TlsFiles> = {
  certificate: 'string',
  key: 'string',
  ca: 'string',
  password: 'string',
  requireClientCertificate: 'boolean',
};

/** The names of the options of a port. */
export const listenOptionNames: OptionNames<ListenOptions> = {
  port: 'number',
  host: 'string',
  tls: { names: tlsNames, required: ['certificate', 'key'] },
  hstsSeconds: 'number',
  connections: { names: connectionNames },
  dangerouslyAllowUnauthenticatedRemote: 'boolean',
  hosts: 'list',
  drainMs: 'number',
  noticeMs: 'number',
};

/** An open port. Until `handle` is called, every request is answered with 503. */
export interface HttpServer {
  readonly server: Server | SecureServer;
  readonly url: string;
  readonly port: number;
  /** Whether only this machine can reach it. */
  readonly isLocalOnly: boolean;
  /** Allowed host names besides localhost; undefined unless the server listens on a loopback address. */
  readonly hostNames: readonly string[] | undefined;
  handle(handler: Handler): void;
  /** From now on every response closes its connection. Resolves after `noticeMs`. */
  leave(): Promise<void>;
  /** Stops accepting connections, waits for `drain`, then closes the remaining connections. */
  close(drain: Drain): Promise<void>;
}

/** How long a load balancer that polls `/ready` has to notice the shutdown, in milliseconds. */
const defaultNoticeMs = 5_000;
/** Two requests of `/ready` within this time mean that a load balancer polls it, in milliseconds. */
const watchedMs = 60_000;

/** Checks that the address is allowed without authentication, then opens the port. */
export async function openServer(
  options: ListenOptions & {
    readonly url?: string;
    readonly logger?: Logger;
    /** Whether callers must authenticate. */
    readonly isAuthenticated: boolean;
    /** Whether a card names the URL. @default true */
    readonly a2a?: boolean;
  },
): Promise<HttpServer> {
  const { port = 0, host = '127.0.0.1', tls, isAuthenticated, logger = defaultLogger } = options;
  const { dangerouslyAllowUnauthenticatedRemote = false, hstsSeconds = 31_536_000 } = options;
  checkBind({ host, isAuthenticated, dangerouslyAllowUnauthenticatedRemote });
  const audit = new AuditLog(logger);
  const isOpen = !isAuthenticated && !isLoopbackHost(host);
  if (isOpen) audit.action('audit.unauthenticated_remote', { host });
  const hostNames = isLoopbackHost(host) ? knownNames(options) : undefined;
  // A web page that reaches the server by DNS rebinding has no credentials.
  const names = isAuthenticated ? undefined : hostNames;
  const isStrict = tls !== undefined && hstsSeconds > 0;
  const strict = `max-age=${hstsSeconds}`;
  const { noticeMs, drainMs = 20_000 } = options;
  const responses = new OpenResponses();
  /** The times of the last two requests of `/ready`. A single request does not mean polling. */
  let readyAsked: readonly [number, number] = [-Infinity, -Infinity];
  let handler: Handler = refuseBeforeStart;
  let released: PromiseWithResolvers<void> | undefined;
  const hold = (): Disposable => {
    const until = Promise.withResolvers<void>();
    released = until;
    return {
      [Symbol.dispose]() {
        released = undefined;
        until.resolve();
      },
    };
  };
  const listener: Handler = (request, response) => {
    responses.add(response);
    if (request.url?.endsWith('/ready') === true) readyAsked = [performance.now(), readyAsked[0]];
    if (isStrict) response.setHeader('strict-transport-security', strict);
    normalizeTarget(request);
    try {
      refuseAmbiguousHost(request, response);
      if (names !== undefined) refuseForeignNames(request, names);
    } catch (thrown) {
      const { status, body } = toRestError(reportError({ audit, logger }, request, thrown));
      return sendJson(response, status, JSON.stringify(body));
    }
    if (released !== undefined) {
      return void released.promise.then(() => handler(request, response));
    }
    return handler(request, response);
  };
  const limits = serverOptions(options.connections);
  const secure = tls === undefined ? undefined : tlsServer(tls, listener, logger, limits);
  const server = secure?.server ?? createServer(limits, listener);
  answerMalformed(server, isStrict ? { 'strict-transport-security': strict } : {});
  server.maxConnections = options.connections?.max ?? 10_000;
  try {
    await listen(server, port, host);
  } catch (error) {
    secure?.stop();
    throw error;
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('not a TCP server');
  const local = addressOf(host, address.port, secure !== undefined);
  if (isWildcard(host)) warnWithoutUrl(options, local, logger);
  return {
    server,
    port: address.port,
    hostNames,
    isLocalOnly: isLocalOnly({ ...options, host }),
    url: options.url ?? local,
    handle(next) {
      handler = next;
    },
    async leave() {
      responses.closeConnections();
      const isWatched = performance.now() - readyAsked[1] < watchedMs;
      const notice = noticeMs ?? (isWatched ? defaultNoticeMs : 0);
      if (notice > 0) await sleep(notice);
    },
    async close(drain) {
      responses.closeConnections();
      try {
        await shutDown({ server, responses, hold, drain, drainMs });
      } finally {
        secure?.stop();
      }
    },
  };
}

/** Timeout of the TLS handshake, in milliseconds. */
const handshakeTimeout = 10_000;

function tlsServer(
  files: TlsFiles,
  listener: RequestListener,
  logger: Logger,
  options: ServerOptions,
): { readonly server: SecureServer; readonly stop: () => void } {
  const server = createSecureServer(
    {
      ...readTls(files),
      requestCert: files.ca !== undefined,
      rejectUnauthorized: files.requireClientCertificate === true,
      handshakeTimeout,
      ...options,
    },
    listener,
  );
  const stop = watchTls(files, logger, (context) => server.setSecureContext(context));
  return { server, stop };
}

function serverOptions(limits: Partial<ConnectionLimits> = {}): ServerOptions {
  const { headersTimeoutMs = 15_000, requestTimeoutMs = 60_000, keepAliveMs = 65_000 } = limits;
  const requestTimeout = Math.max(requestTimeoutMs, headersTimeoutMs);
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout,
    keepAliveTimeout: keepAliveMs,
    // `refuseAmbiguousHost` checks the header: Node would refuse the request without a body.
    requireHostHeader: false,
    // Node checks timeouts at this interval, which limits how late a timeout fires.
    connectionsCheckingInterval: Math.max(Math.min(headersTimeoutMs, requestTimeout) / 4, 10),
  };
}

function knownNames({ hosts = [], url }: ListenOptions & { readonly url?: string }): string[] {
  const own = url === undefined ? undefined : URL.parse(url)?.hostname;
  return [...hosts.map((name) => name.toLowerCase()), ...(own === undefined ? [] : [own])];
}

/** The URL to show. A server that listens on all addresses is shown as localhost. */
function addressOf(host: string, port: number, isSecure: boolean): string {
  const isLocal = isWildcard(host) || host === '127.0.0.1';
  const shown = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${shown}:${port}`;
}

/** Whether the host means all addresses of this machine. */
function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Warns that the card has a local URL, which other machines can't reach. */
function warnWithoutUrl(
  { url, a2a = true }: { readonly url?: string; readonly a2a?: boolean },
  card: string,
  logger: Logger,
): void {
  if (url !== undefined || !a2a) return;
  const fix = 'set the public URL: --url, LEGATE_URL, a2a_server.url, or url in code';
  logger.warn({ card, fix }, 'http.url_missing');
}

function listen(server: Server | SecureServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === 'EADDRINUSE'
          ? `port ${port} is in use: stop the program that uses it, or set another port (--port)`
          : `${host}:${port} can't be opened: ${cause.message}`;
      reject(invalidConfiguration(why, cause));
    });
    server.listen(port, host, () => resolve());
  });
}
