import { checkBind, isLocalOnly } from '../auth/index.ts';
import {
  type AgentCard,
  type AgentInterface,
  checkOptions,
  type OptionNames,
} from '../protocol/index.ts';
import type { Service, TlsFiles } from '../service/index.ts';
import { type Logger, loggerOption } from '../telemetry/index.ts';

/** Limits of gRPC calls. */
export interface GrpcLimits {
  /** Largest request in bytes, before and after decompression. @default the service's `maxBodyBytes` */
  readonly maxMessageBytes: number;
  /** Timeout for receiving a request, in milliseconds. @default the service's `bodyTimeoutMs` */
  readonly arrivalTimeoutMs: number;
  /** Concurrent calls on one connection. @default 1_000 */
  readonly maxConcurrentCalls: number;
  /** Maximum number of bytes buffered for a slow reader of a stream. @default 64 KiB */
  readonly maxBufferedBytes: number;
  /** Interval of keep-alive pings on idle connections, in milliseconds. @default 60_000 */
  readonly keepAliveMs: number;
  /** How long a connection without calls stays open, in milliseconds. @default 300_000 */
  readonly maxIdleMs: number;
}

/** The address and the limits of the gRPC server. */
export interface ServeGrpcOptions {
  /** @default 0, any free port */
  readonly port?: number;
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** The address for callers in the card, as `host:port`. @default its host and port */
  readonly url?: string;
  /** Serves TLS; the server reloads the files when they change. */
  readonly tls?: TlsFiles;
  /** Listens on addresses that other machines can reach without authenticating callers. @default false */
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
  readonly limits?: Partial<GrpcLimits>;
  /** @default the service's */
  readonly logger?: Logger;
}

const optionNames: OptionNames<ServeGrpcOptions> = {
  port: 'number',
  host: 'string',
  url: 'string',
  tls: 'object',
  dangerouslyAllowUnauthenticatedRemote: 'boolean',
  limits: 'object',
  logger: loggerOption,
};

/**
 * A running gRPC server.
 * @example
 * const grpcServer: GrpcServer = await serveGrpc(server.router, { port: 50051 });
 * grpcServer.url; // 'localhost:50051', without a scheme
 * await grpcServer.close({ graceMs: 2_000 });
 */
export interface GrpcServer extends AsyncDisposable {
  readonly port: number;
  /** `host:port`, as in the card. */
  readonly url: string;
  /** Its entries in the card: 1.0, then 0.3. */
  readonly interfaces: readonly AgentInterface[];
  /**
   * Accepts no new calls (GOAWAY) and waits up to `graceMs` for calls, streams and turns, then ends
   * the rest. @default graceMs 20_000
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves an agent over gRPC beside HTTP, with the services of A2A 1.0 (`lf.a2a.v1`) and 0.3 (`a2a.v1`)
 * on one port, and lists it in the agent's card while it is open. Requests of the card wait until gRPC
 * has started, so they get the card that lists it. Callers are authenticated and limited as over HTTP.
 * This call loads grpc-js. Close the server before the router.
 * @example
 * await using server = await serve(agent, { port: 8080 });
 * await using grpcServer = await serveGrpc(server.router, { port: 50051 });
 */
export function serveGrpc(
  { service }: { readonly service: Service },
  options: ServeGrpcOptions = {},
): Promise<GrpcServer> {
  checkOptions('serveGrpc', options, optionNames);
  return service.cards.holdFor(openGrpc(service, options));
}

async function openGrpc(service: Service, options: ServeGrpcOptions): Promise<GrpcServer> {
  const { host = '127.0.0.1', dangerouslyAllowUnauthenticatedRemote = false } = options;
  const { cards, limits } = service;
  checkBind({
    host,
    isAuthenticated: !service.auth.isOpen,
    dangerouslyAllowUnauthenticatedRemote,
  });
  if (!isLocalOnly({ host })) service.exposure.openToNetwork();
  const { startServer } = await import('./server.ts');
  const server = await startServer({
    service,
    host,
    port: options.port ?? 0,
    tls: options.tls,
    logger: options.logger ?? service.logger,
    limits: {
      maxMessageBytes: limits.maxBodyBytes,
      arrivalTimeoutMs: limits.bodyTimeoutMs,
      maxConcurrentCalls: 1_000,
      maxBufferedBytes: 64 * 1024,
      keepAliveMs: 60_000,
      maxIdleMs: 300_000,
      ...options.limits,
    },
  });
  const url = options.url ?? `${shownHost(host)}:${server.port}`;
  const interfaces: readonly AgentInterface[] = [
    { url, protocolBinding: 'GRPC', protocolVersion: '1.0' },
    { url, protocolBinding: 'GRPC', protocolVersion: '0.3' },
  ];
  try {
    await cards.replace(listing(cards.current, interfaces));
  } catch (error) {
    await server.close(0);
    throw error;
  }
  const close: GrpcServer['close'] = async ({ graceMs = 20_000 } = {}) => {
    try {
      await cards.replace(unlisting(cards.current, interfaces));
    } finally {
      await server.close(graceMs);
    }
  };
  return { port: server.port, url, interfaces, close, [Symbol.asyncDispose]: () => close() };
}

/** The part of `Channel` of the HTTP server that gRPC uses. */
export interface GrpcChannel {
  readonly name: string;
  mount(host: { readonly service: Service }): Promise<{ readonly drain: GrpcServer['close'] }>;
}

/**
 * Serves an agent over gRPC beside HTTP, like `serveGrpc`, and shuts it down with the server.
 * @example await using server = await serve(agent, { port: 8080, channels: [grpcChannel({ port: 50051 })] });
 */
export function grpcChannel(options: ServeGrpcOptions = {}): GrpcChannel {
  checkOptions('grpcChannel', options, optionNames);
  return {
    name: 'grpc',
    async mount({ service }) {
      const server = await serveGrpc({ service }, options);
      return { drain: (grace) => server.close(grace) };
    },
  };
}

/** Adds interfaces: 1.0 before 0.3, each after the HTTP interfaces of its version. */
function listing(card: AgentCard, added: readonly AgentInterface[]): AgentCard {
  const { signatures: _, supportedInterfaces: known, ...rest } = card;
  const isLegacy = ({ protocolVersion }: AgentInterface): boolean => protocolVersion === '0.3';
  const all = [...known, ...added];
  return {
    ...rest,
    supportedInterfaces: [...all.filter((item) => !isLegacy(item)), ...all.filter(isLegacy)],
  };
}

function unlisting(card: AgentCard, removed: readonly AgentInterface[]): AgentCard {
  const { signatures: _, supportedInterfaces, ...rest } = card;
  const isOurs = (item: AgentInterface): boolean =>
    removed.some(
      (ours) =>
        ours.url === item.url &&
        ours.protocolBinding === item.protocolBinding &&
        ours.protocolVersion === item.protocolVersion,
    );
  return { ...rest, supportedInterfaces: supportedInterfaces.filter((item) => !isOurs(item)) };
}

/** The host to show. A server that listens on all addresses is shown as localhost. */
function shownHost(host: string): string {
  if (['0.0.0.0', '::', '127.0.0.1', '[::]'].includes(host)) return 'localhost';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
