import { lookup } from 'node:dns/promises';
import { Agent as HttpAgent, type ClientRequestArgs } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { connect as connectTcp, isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { present } from '../config/index.ts';
import type { ClientTls, TlsMaterial } from '../net/index.ts';
import type { ErrorCode } from '../protocol/index.ts';
import { type TimeLimit, within } from '../time/index.ts';
import {
  addressKind,
  literalAddress,
  targetProblem,
  type UrlPolicy,
  UrlRefused,
} from './policy.ts';

/**
 * The policy is enforced where sockets are created, so that no call can bypass it: an IP literal never
 * reaches a `lookup` hook, and DNS could change its answer after an earlier check. A socket connects
 * only to an address that was checked for this connection.
 */
interface GuardedAgentOptions {
  readonly policy: UrlPolicy;
  readonly resolver: Resolver;
  /** Milliseconds for DNS. */
  readonly dnsTimeout: number;
  /** Milliseconds for TCP, and TLS where used. */
  readonly connectTimeout: number;
  /** Open sockets to one host. */
  readonly maxSocketsPerHost: number;
  /** Sockets kept for reuse over all hosts. */
  readonly maxIdleSockets: number;
  /** Read for each new connection. */
  readonly tls?: ClientTls;
}

type Created = (error: Error | null, stream: Duplex) => void;

const idleTimeout = 10_000;

export class GuardedHttpAgent extends HttpAgent {
  readonly #options: GuardedAgentOptions;

  constructor(options: GuardedAgentOptions) {
    super({ keepAlive: true, maxSockets: options.maxSocketsPerHost, timeout: idleTimeout });
    this.#options = options;
  }

  override createConnection(request: ClientRequestArgs, created?: Created): undefined {
    settle(connectChecked('http', request, this.#options), created);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return idleCount(this) < this.#options.maxIdleSockets && keep(super.keepSocketAlive(socket));
  }
}

export class GuardedHttpsAgent extends HttpsAgent {
  readonly #options: GuardedAgentOptions;

  constructor(options: GuardedAgentOptions) {
    super({ keepAlive: true, maxSockets: options.maxSocketsPerHost, timeout: idleTimeout });
    this.#options = options;
  }

  override createConnection(request: RequestOptions, created?: Created): undefined {
    settle(connectChecked('https', request, this.#options), created);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return idleCount(this) < this.#options.maxIdleSockets && keep(super.keepSocketAlive(socket));
  }
}

/** The declared type is `void`, but the value tells whether the socket can be kept. */
function keep(answer: unknown): boolean {
  return answer !== false;
}

function idleCount(agent: HttpAgent): number {
  let count = 0;
  for (const sockets of Object.values(agent.freeSockets)) count += sockets?.length ?? 0;
  return count;
}

function settle(connecting: Promise<Socket>, created: Created | undefined): void {
  connecting.then(
    (socket) => created?.(null, socket),
    (error: unknown) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- on failure node:http reads the first argument only
      (created as ((error: unknown) => void) | undefined)?.(error),
  );
}

async function connectChecked(
  scheme: 'http' | 'https',
  request: RequestOptions,
  options: GuardedAgentOptions,
): Promise<Socket> {
  const name = request.host ?? 'localhost';
  const host = isIPv6(name) ? `[${name}]` : name;
  const addresses = await resolveChecked(host, { ...options, scheme });
  const material = (scheme === 'https' ? await options.tls?.current() : undefined) ?? {};
  const socket = connectTcp({
    host: name,
    port: Number(request.port),
    lookup: pinned(addresses),
    autoSelectFamily: true,
    noDelay: true,
  });
  // An error before node:http adds its own listener must not crash the process. The request fails by
  // the `close` event that follows.
  socket.on('error', () => {});
  const deadline = setTimeout(
    () =>
      socket.destroy(
        new Error(`connecting to ${host} took longer than ${options.connectTimeout} ms`),
      ),
    options.connectTimeout,
  );
  try {
    await once(socket, 'connect');
    const kind = addressKind(socket.remoteAddress ?? '') ?? 'forbidden';
    const problem = targetProblem({ scheme, host, kind }, options.policy);
    if (problem !== undefined) throw new UrlRefused('PEER_UNREACHABLE', 'url', problem);
    if (scheme === 'http') return socket;
    const secured = connectTls({ ...tlsOptions(request, material), socket });
    secured.on('error', () => {});
    await once(secured, 'secureConnect');
    return secured;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(deadline);
  }
}

/** The agent has merged `servername` into the request's options. */
function tlsOptions(
  { host, servername }: RequestOptions,
  { ca, certificate: cert, key }: TlsMaterial,
): ConnectionOptions {
  return {
    ...(typeof host === 'string' ? { host } : {}),
    ...present({ servername, ca, cert, key }),
    ALPNProtocols: ['http/1.1'],
  };
}

/** Returns all addresses, as `autoSelectFamily` requires. */
function pinned(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, _options, callback) => callback(null, answers);
}

/** Resolves on the event. Rejects if the socket fails or closes before it. */
function once(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(new Error('the connection was closed before it was ready'));
  socket.once(event, resolve).once('error', reject).once('close', onClose);
  return promise.finally(() => {
    socket.off(event, resolve).off('error', reject).off('close', onClose);
  });
}

/**
 * Resolves a name to all its addresses. Rejects if it has none.
 * @example const resolver: Resolver = async () => ['203.0.113.7'];
 */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

/**
 * Resolves names by the operating system, so hosts files and search domains apply.
 * @example const addresses = await systemResolver('example.com');
 */
export const systemResolver: Resolver = async (hostname) => {
  const answers = await lookup(hostname, { all: true, verbatim: true });
  return answers.map((answer) => answer.address);
};

interface ResolveOptions {
  readonly scheme: 'http' | 'https';
  readonly policy: UrlPolicy;
  readonly resolver: Resolver;
  /** Milliseconds. */
  readonly dnsTimeout: number;
  /** @default 'PEER_UNREACHABLE' */
  readonly code?: ErrorCode;
}

/**
 * Resolves a host and checks all its addresses. One disallowed address refuses the host, because the
 * owner of the name also controls the order of the answers.
 * @example await resolveChecked('example.com', { scheme: 'https', policy, resolver, dnsTimeout: 5_000 });
 */
export async function resolveChecked(
  host: string,
  options: ResolveOptions,
): Promise<readonly string[]> {
  const { scheme, policy, code = 'PEER_UNREACHABLE' } = options;
  const literal = literalAddress(host);
  const addresses =
    literal === undefined
      ? await within(lookupLimit(host, options.dnsTimeout), () => options.resolver(host))
      : [literal];
  if (addresses.length === 0) throw new Error(`host ${host} has no address`);
  for (const address of addresses) {
    const problem = targetProblem(
      { scheme, host, kind: addressKind(address) ?? 'forbidden' },
      policy,
    );
    if (problem !== undefined) throw new UrlRefused(code, 'url', problem);
  }
  return addresses;
}

function lookupLimit(host: string, milliseconds: number): TimeLimit {
  const reason = () => new Error(`looking up ${host} took longer than ${milliseconds} ms`);
  return { milliseconds, reason };
}
