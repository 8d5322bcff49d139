import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import type { ClientTls } from '../net/index.ts';
import { errorMessage, LegateError } from '../protocol/index.ts';
import {
  GuardedHttpAgent,
  GuardedHttpsAgent,
  type Resolver,
  systemResolver,
} from './guarded-agent.ts';
import {
  checkUrl,
  literalAddress,
  operatorPolicy,
  portOf,
  schemeOf,
  type UrlPolicy,
} from './policy.ts';
import { Deadline, until } from '../time/index.ts';

/**
 * Destinations and timeouts of outbound calls.
 * @example
 * const options: GuardedClientOptions = {
 *   policy: { ...publicPolicy, allowedHosts: ['partners.example.com'] },
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
  /**
   * Certificate authorities and the client certificate. @default the authorities of Node, no certificate
   * @example tls: clientTls({ ca: 'ca.pem', cert: 'client.pem', key: 'client.key' })
   */
  readonly tls?: ClientTls;
}

/**
 * A call to an address that came from a caller.
 * @example
 * const request: OutboundRequest = {
 *   method: 'POST', body: JSON.stringify({ paid: true }), signal: AbortSignal.timeout(10_000),
 *   headers: { 'content-type': 'application/json', 'idempotency-key': 'order-81' },
 *   isRepeatable: true, // the key lets the receiver detect the repeat
 * };
 */
export interface OutboundRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal: AbortSignal;
  /**
   * Whether the call can be sent again if a reused connection breaks before the response.
   * @default true for GET and HEAD
   */
  readonly isRepeatable?: boolean;
}

/**
 * HTTP calls to destinations that a policy allows. Redirects are never followed: a 3xx is a response
 * like any other. Keeps idle connections until `close`.
 * @example
 * const client = new GuardedClient({ policy: publicPolicy })
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
   * Resolves with the head of the response; the caller must read or destroy its body. Rejects with
   * `UrlRefused` if the policy forbids the address, and with `PEER_UNREACHABLE` if the call failed.
   */
  async send(address: string, request: OutboundRequest): Promise<IncomingMessage> {
    const url = checkUrl(address, this.#policy, { code: 'PEER_UNREACHABLE' });
    const isRepeatable = request.isRepeatable ?? ['GET', 'HEAD'].includes(request.method);
    try {
      return await this.#attempt(url, request);
    } catch (error) {
      // The peer may have closed a kept connection at the moment of its reuse.
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
    // Node closes the request without an error if the answer is a protocol switch (101).
    outgoing.once('close', () => reject(new Error('the connection was closed without a response')));
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET';
      reject(isStale ? new StaleConnection('stale', { cause: error }) : error);
    });
    outgoing.end(request.body);
    // A request that waits for a socket reports its abort only once it has one.
    return until(promise, request.signal);
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

class StaleConnection extends Error {}

/** Names the origin only: the path of a webhook can be a secret. */
function asUnreachable(url: URL, error: unknown, signal: AbortSignal): unknown {
  if (error instanceof LegateError) return error;
  if (signal.aborted) return signal.reason;
  return new LegateError(
    'PEER_UNREACHABLE',
    `${url.origin} could not be reached: ${errorMessage(error)}`,
    {
      cause: error,
    },
  );
}

/** Default timeouts of calls to addresses that come from callers, in milliseconds. */
export const outboundTimeouts = {
  /** For DNS. */
  dns: 5_000,
  /** For TCP and TLS. */
  connect: 5_000,
  /** For one call in total; for a streamed response, until its headers. */
  overall: 30_000,
} as const;

/**
 * Limits of a guarded `fetch`.
 * @example
 * const options: GuardedFetchOptions = { headTimeout: 5_000, maxResponseBytes: 1_048_576 };
 */
export interface GuardedFetchOptions extends Omit<GuardedClientOptions, 'policy'> {
  /** Milliseconds until the head of the response; 0 for no limit. @default 30_000 */
  readonly headTimeout?: number;
  /** Milliseconds without a byte of the body; 0 for no limit. @default 120_000 */
  readonly idleTimeout?: number;
  /** Each streamed response keeps a socket until it ends. @default 1_024 */
  readonly maxSocketsPerHost?: number;
  /**
   * Maximum bytes of a body. Event streams are unlimited here: their readers limit each event. @default
   * 33_554_432
   */
  readonly maxResponseBytes?: number;
}

/**
 * A `fetch` for destinations that a policy allows.
 * @example
 * const fetch: GuardedFetch = guardedFetch(httpsOrLoopbackPolicy);
 * process.once('SIGTERM', () => fetch.close());
 */
export type GuardedFetch = typeof fetch & {
  /** Closes idle connections. */
  close(): void;
};

/**
 * Creates a `fetch` for destinations that a policy allows. It returns redirects and never follows them.
 * It requests and accepts uncompressed bodies only, which prevents decompression bombs.
 * @example const fetch = guardedFetch(publicPolicy); await fetch('https://example.com/card.json')
 */
export function guardedFetch(policy: UrlPolicy, options: GuardedFetchOptions = {}): GuardedFetch {
  const {
    headTimeout = outboundTimeouts.overall,
    idleTimeout = 120_000,
    maxResponseBytes = 32 * 1_024 * 1_024,
    maxSocketsPerHost = 1_024,
    ...clientOptions
  } = options;
  const client = new GuardedClient({ policy, maxSocketsPerHost, ...clientOptions });

  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const address = input instanceof Request ? input.url : String(input);
    checkUrl(address, policy, { code: 'PEER_UNREACHABLE' });
    // `Request` handles every kind of body and header that fetch accepts.
    const request = new Request(input, { ...init, signal: null });
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const deadline = new Deadline({
      signal: init.signal ?? (input instanceof Request ? input.signal : undefined),
      milliseconds: headTimeout,
      reason: () => slow(address, headTimeout),
    });
    let answer: IncomingMessage | undefined;
    try {
      answer = await client.send(address, {
        method: request.method,
        headers: { 'accept-encoding': 'identity', ...Object.fromEntries(request.headers) },
        ...(body === undefined ? {} : { body }),
        signal: deadline.signal,
      });
      deadline.lift();
      answer.once('close', () => deadline.close());
      const headers = new Headers();
      for (let index = 0; index + 1 < answer.rawHeaders.length; index += 2) {
        headers.append(answer.rawHeaders[index] ?? '', answer.rawHeaders[index + 1] ?? '');
      }
      return respond(address, answer, {
        status: answer.statusCode ?? 0,
        headers,
        isHead: request.method === 'HEAD',
        redirect: init.redirect,
        maxBytes: isEventStream(headers) ? Infinity : maxResponseBytes,
        idleTimeout,
      });
    } catch (error) {
      answer?.destroy();
      deadline.close();
      throw error;
    }
  };
  return Object.assign(fetch, { close: () => client.close() });
}

/**
 * Creates a `fetch` for servers that the operator configured with TLS files. It has no timeouts:
 * callers set them.
 * @example const fetch = tlsFetch(clientTls({ ca: 'ca.pem', cert: 'client.pem', key: 'client.key' }));
 */
export function tlsFetch(tls: ClientTls, policy: UrlPolicy = operatorPolicy): GuardedFetch {
  return guardedFetch(policy, { tls, headTimeout: 0, idleTimeout: 0 });
}

interface Head {
  readonly status: number;
  readonly headers: Headers;
  readonly isHead: boolean;
  readonly redirect: RequestRedirect | undefined;
  readonly maxBytes: number;
  readonly idleTimeout: number;
}

/** Throws for an answer that is refused. The caller destroys it. */
function respond(address: string, answer: Readable, head: Head): Response {
  const { status, headers } = head;
  // `Response` accepts no others.
  if (status < 200 || status > 599) throw failed(address, `returned the invalid status ${status}`);
  if (status >= 300 && status < 400 && status !== 304 && head.redirect === 'error') {
    throw failed(address, `answered ${status}; redirects are not followed`);
  }
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    throw failed(
      address,
      `returned content-encoding ${encoding}, but the request accepts only identity`,
    );
  }
  if (Number(headers.get('content-length') ?? 0) > head.maxBytes) {
    throw tooLarge(address, head.maxBytes);
  }
  const isBodyless = head.isHead || status === 204 || status === 205 || status === 304;
  if (isBodyless) answer.resume();
  const stream = isBodyless ? null : bounded(address, answer, head);
  return new Response(stream, { status, headers });
}

/** Pulls on demand: pauses of the reader do not count towards the idle timeout of the peer. */
function bounded(
  address: string,
  answer: Readable,
  { maxBytes, idleTimeout }: Head,
): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const timer =
        idleTimeout > 0
          ? setTimeout(() => answer.destroy(slow(address, idleTimeout)), idleTimeout)
          : undefined;
      const next = await chunks.next().finally(() => clearTimeout(timer));
      if (next.done === true) return controller.close();
      size += next.value.length;
      if (size > maxBytes) {
        answer.destroy();
        throw tooLarge(address, maxBytes);
      }
      controller.enqueue(next.value);
    },
    cancel() {
      answer.destroy();
    },
  });
}

function isEventStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function slow(address: string, milliseconds: number): LegateError {
  return failed(address, `sent nothing for ${milliseconds} ms`);
}

function tooLarge(address: string, maxBytes: number): LegateError {
  return failed(address, `answered with more than ${maxBytes} bytes`);
}

/** Names the origin only: the path of an address can be a secret. */
function failed(address: string, what: string): LegateError {
  return new LegateError('PEER_UNREACHABLE', `${new URL(address).origin} ${what}`);
}
