import type { TcpNetConnectOpts } from 'node:net';
import { hostname } from 'node:os';
import { Connection } from 'rabbitmq-client';
import { present } from '../../../config/index.ts';
import {
  errorMessage,
  invalidConfiguration,
  LegateError,
  toError,
} from '../../../protocol/index.ts';
import type { ClientTls } from '../../../net/index.ts';
import type { Scheduler } from '../../../tasks/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { backoff, retry } from '../../../time/index.ts';
import { defaultMaxBodyBytes } from '../bus.ts';
import { type BrokerTls, currentTls, rotatingTls } from './broker-tls.ts';
import { parseBrokerUrl } from './broker-url.ts';
import { connectError, isPermanent } from './connect-error.ts';
import { guardedReads } from './content-guard.ts';
import type { ServerProperties } from './handshake.ts';

/** The address of the broker, and how the client authenticates. */
export interface RabbitConnectionOptions {
  /** `amqp://user:password@host:port/vhost`, or `amqps:`. Without a user: guest, password guest. */
  readonly url: string;
  /** The nodes of a cluster as `host` or `host:port`, tried in turn. @default the host of the URL */
  readonly hosts?: readonly string[];
  /** @default that of the URL, or "/" */
  readonly vhost?: string;
  /**
   * Certificates as PEM: trusted CAs, and our own; or `clientTls` for files, which each new connection reads
   * again. @default the CAs that Node trusts, and no certificate of our own
   */
  readonly tls?: BrokerTls | ClientTls;
  /** How to authenticate: with user and password, or with the certificate. @default 'plain' */
  readonly auth?: 'plain' | 'external';
  /**
   * Seconds between heartbeats; 0 for none. A connection that is silent for two intervals counts as lost,
   * which detects a broker or network that hangs. @default 20
   */
  readonly heartbeat?: number;
  /** The largest frame, in bytes. @default 8192 */
  readonly frameMax?: number;
  /**
   * The start of the connections' names in the broker's listings, which add the purpose and the name
   * of this machine. @default 'legate'
   */
  readonly connectionName?: string;
  /** How long to wait for the broker, in milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /** Called before each further attempt to connect. */
  readonly onWait?: (error: LegateError) => void;
  /** Ends the attempts to connect. */
  readonly signal?: AbortSignal;
}

export const defaultConnectTimeoutMs = 10_000;
/** Seconds; RabbitMQ's own default of 60 detects a broker that hangs only after two minutes. */
const defaultHeartbeat = 20;

interface ConnectOptions extends RabbitConnectionOptions {
  readonly maxBodyBytes?: number;
  readonly purpose: 'publish' | 'consume';
  readonly logger: Logger;
  readonly scheduler: Scheduler;
}

/** An open connection, and the properties of its broker. */
export interface OpenConnection {
  readonly connection: Connection;
  readonly server: () => ServerProperties | undefined;
}

/** Between attempts to connect, in milliseconds. */
export const connectPauses = { initialMs: 200, maximumMs: 5_000 };

/**
 * Connects, and retries for `connectTimeoutMs` while the broker is unavailable. Rejects at once with
 * `CONFIGURATION_INVALID` if a retry can't help, otherwise with `UNAVAILABLE`.
 */
export async function connect(options: ConnectOptions): Promise<OpenConnection> {
  const { scheduler, connectTimeoutMs = defaultConnectTimeoutMs, onWait, signal } = options;
  const url = readUrl({ ...options, tls: await currentTls(options.tls) });
  const { hosts = [] } = options;
  const deadline = scheduler.now() + connectTimeoutMs;
  return retry(
    (attempt) => {
      const left = Math.max(deadline - scheduler.now(), 1_000);
      // Each attempt starts with the next host.
      const first = (attempt - 1) % Math.max(1, hosts.length);
      const inTurn = [...hosts.slice(first), ...hosts.slice(0, first)];
      return attemptOnce({ ...options, hosts: inTurn }, url, Math.min(left, 10_000));
    },
    {
      delays: (failures) => backoff(failures, connectPauses),
      signal,
      isRetryable: (error) => !isPermanent(error) && scheduler.now() < deadline,
      onRetry: ({ error }) => {
        if (error instanceof LegateError) onWait?.(error);
      },
    },
  );
}

function readUrl({
  url: given,
  tls,
  auth,
}: Pick<ConnectOptions, 'url' | 'auth'> & { readonly tls: BrokerTls | undefined }): URL {
  const url = parseBrokerUrl(given);
  if (url.protocol === 'amqp:' && (tls !== undefined || auth === 'external')) {
    throw invalidConfiguration(
      'certificates need TLS: the address of the broker must start with amqps:',
    );
  }
  if (auth === 'external' && tls?.cert === undefined) {
    throw invalidConfiguration(
      'auth external proves this client by its certificate: set cert and key',
    );
  }
  return withUser(url);
}

/** Adds the broker's default user if the URL has none: the library would send an empty user name. */
function withUser(url: URL): URL {
  if (url.username !== '') return url;
  const changed = new URL(url);
  changed.username = 'guest';
  changed.password = 'guest';
  return changed;
}

/** One attempt to connect. It fails with its own cause: the library reports only the first of several. */
async function attemptOnce(
  options: ConnectOptions,
  url: URL,
  milliseconds: number,
): Promise<OpenConnection> {
  const { logger, purpose, hosts = [], vhost, signal } = options;
  const { maxBodyBytes = defaultMaxBodyBytes } = options;
  let server: ServerProperties | undefined;
  const tls = options.tls === undefined ? undefined : await rotatingTls(options.tls, logger);
  const connection = new Connection({
    // The library takes the virtual host from the URL only.
    url: withVhost(url, vhost),
    ...(hosts.length > 0 && { hosts: [...hosts] }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library's type requires a port, which it takes from the URL
    socket: guardedReads(
      { maxBodyBytes },
      { isExternal: options.auth === 'external', onServer: (properties) => (server = properties) },
    ) as TcpNetConnectOpts,
    connectionName: `${options.connectionName ?? 'legate'} ${purpose}@${hostname()}`,
    connectionTimeout: milliseconds,
    noDelay: true,
    retryLow: 100,
    retryHigh: 5_000,
    acquireTimeout: 10_000,
    heartbeat: options.heartbeat ?? defaultHeartbeat,
    ...present({ tls: tls?.options, frameMax: options.frameMax }),
  });
  const where = hosts.length === 0 ? url.host : hosts.join(', ');
  let isOpen = false;
  let onAbort: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      onAbort = () => reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      connection.once('connection', resolve);
      connection.on('error', (error: unknown) => {
        void tls?.refresh();
        if (isOpen) {
          const lost = { host: where, purpose, reason: errorMessage(error) };
          logger.warn(lost, 'bus.connection.lost');
        } else reject(toError(error));
      });
    });
  } catch (error) {
    connection.unsafeDestroy();
    signal?.throwIfAborted();
    // Of several hosts, the first one has failed.
    const failed = hosts[0] ?? url.host;
    throw connectError(error, { where: failed, url, auth: options.auth, server });
  } finally {
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
  isOpen = true;
  logger.info({ host: where, purpose, broker: server?.version }, 'bus.connection.open');
  connection.on('connection', () => logger.info({ host: where, purpose }, 'bus.connection.open'));
  connection.on('connection.blocked', (reason) => {
    logger.warn({ host: where, purpose, reason }, 'bus.connection.blocked');
  });
  connection.on('connection.unblocked', () => {
    logger.info({ host: where, purpose }, 'bus.connection.unblocked');
  });
  return { connection, server: () => server };
}

function withVhost(url: URL, vhost: string | undefined): string {
  if (vhost === undefined) return url.href;
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(vhost)}`;
  return changed.href;
}
