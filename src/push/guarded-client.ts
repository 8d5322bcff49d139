import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { LegateError } from '../protocol/index.ts';
import { literalAddress } from './address.ts';
import { GuardedHttpAgent, GuardedHttpsAgent } from './guarded-agent.ts';
import { checkUrl, portOf, schemeOf, type UrlPolicy } from './policy.ts';
import { type Resolver, systemResolver } from './resolver.ts';

/**
 * Where calls may go, and how long they may take.
 * @example
 * const options: GuardedClientOptions = {
 *   policy: { ...sealedPolicy, allowedHosts: ['partners.example.com'] },
 *   connectTimeout: 2_000, maxSocketsPerHost: 4,
 * };
 */
export interface GuardedClientOptions {
  readonly policy: UrlPolicy;
  /** @default the operating system's */
  readonly resolver?: Resolver;
  /** Milliseconds for DNS. @default 5_000 */
  readonly dnsTimeout?: number;
  /** Milliseconds for TCP and TLS. @default 5_000 */
  readonly connectTimeout?: number;
  /** @default 16 */
  readonly maxSocketsPerHost?: number;
  /** Sockets kept for reuse over all hosts. @default 64 */
  readonly maxIdleSockets?: number;
  /** Certificates of authorities to trust instead of the system's, PEM. */
  readonly certificateAuthority?: string;
}

/**
 * A call to an address that somebody else named.
 * @example
 * const request: OutboundRequest = {
 *   method: 'POST', body: JSON.stringify({ paid: true }), signal: AbortSignal.timeout(10_000),
 *   headers: { 'content-type': 'application/json', 'idempotency-key': 'order-81' },
 *   isRepeatable: true, // the key tells the receiver of a repeat
 * };
 */
export interface OutboundRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal: AbortSignal;
  /**
   * May be sent again when a reused connection breaks before the answer.
   * @default true for GET and HEAD
   */
  readonly isRepeatable?: boolean;
}

/**
 * HTTP calls that go only where a policy lets them. Redirects are never followed: a 3xx is an answer
 * like any other. Holds idle connections until `close`.
 * @example
 * const client = new GuardedClient({ policy: sealedPolicy })
 * const response = await client.send('https://example.com/hook', { method: 'POST', headers: {}, signal })
 */
export class GuardedClient {
  readonly #policy: UrlPolicy;
  readonly #http: GuardedHttpAgent;
  readonly #https: GuardedHttpsAgent;

  constructor(options: GuardedClientOptions) {
    const agentOptions = {
      resolver: systemResolver,
      dnsTimeout: outboundTimeouts.dns,
      connectTimeout: outboundTimeouts.connect,
      maxSocketsPerHost: 16,
      maxIdleSockets: 64,
      ...options,
    };
    this.#policy = options.policy;
    this.#http = new GuardedHttpAgent(agentOptions);
    this.#https = new GuardedHttpsAgent(agentOptions);
  }

  /**
   * Resolves with the head of the answer; its body must be read or destroyed. Rejects with
   * `UrlRefused` for what the policy forbids and with `PEER_UNREACHABLE` for what failed.
   */
  async send(address: string, request: OutboundRequest): Promise<IncomingMessage> {
    const url = checkUrl(address, this.#policy, { code: 'PEER_UNREACHABLE' });
    const isRepeatable = request.isRepeatable ?? ['GET', 'HEAD'].includes(request.method);
    try {
      return await this.#attempt(url, request);
    } catch (error) {
      // A kept connection may have been closed by the peer at the very moment it was reused.
      if (!(error instanceof StaleConnection)) throw asUnreachable(url, error, request.signal);
      if (!isRepeatable) throw asUnreachable(url, error.cause, request.signal);
    }
    return this.#attempt(url, request).catch((error: unknown) => {
      throw asUnreachable(url, error, request.signal);
    });
  }

  #attempt(url: URL, request: OutboundRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const isPlain = schemeOf(url) === 'http';
    const outgoing = (isPlain ? httpRequest : httpsRequest)({
      agent: isPlain ? this.#http : this.#https,
      hostname: literalAddress(url.hostname) ?? url.hostname,
      port: portOf(url),
      path: url.pathname + url.search,
      method: request.method,
      headers: {
        host: url.host,
        ...(request.body === undefined
          ? {}
          : { 'content-length': String(Buffer.byteLength(request.body)) }),
        ...request.headers,
      },
      signal: request.signal,
    });
    outgoing.once('response', resolve);
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET';
      reject(isStale ? new StaleConnection('stale', { cause: error }) : error);
    });
    outgoing.end(request.body);
    return promise;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

class StaleConnection extends Error {}

/** Names the origin only: the path of a webhook may be its secret. */
function asUnreachable(url: URL, error: unknown, signal: AbortSignal): unknown {
  if (error instanceof LegateError) return error;
  if (signal.aborted) return signal.reason;
  return new LegateError(
    'PEER_UNREACHABLE',
    `${url.origin} could not be reached: ${reasonOf(error)}`,
    {
      cause: error,
    },
  );
}

/** When every address of a host failed, node:net says why in the code only. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  return error.message === ''
    ? ((error as NodeJS.ErrnoException).code ?? error.name)
    : error.message;
}

/** How long a call to an address that somebody else named may take, in milliseconds, unless it is told otherwise. */
export const outboundTimeouts = {
  /** For DNS. */
  dns: 5_000,
  /** For TCP and TLS. */
  connect: 5_000,
  /** For one call, all in all; for a call whose body is read bit by bit, until the head of the answer. */
  overall: 30_000,
} as const;
