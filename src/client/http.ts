import { LegateError } from '../protocol/index.ts';
import { Credentials, refuseExposure, setHeader } from './credentials.ts';
import { type ClientOptions, type Settings, withDefaults } from './options.ts';

/**
 * A request as `onRequest` receives it.
 * @example
 * const onRequest = ({ operation, headers }: OutgoingRequest) => {
 *   if (operation !== 'card') headers.set('traceparent', currentTrace());
 * };
 */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  /** Name of the operation, or `card`. */
  readonly operation: string;
  readonly headers: Headers;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly operation: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Aborting it prevents a request that is not sent yet. */
  readonly sendUntil?: AbortSignal | undefined;
  /** Sends no credentials. @default false */
  readonly isAnonymous?: boolean;
  /** Follows redirects that stay within the origin. @default false */
  readonly followsRedirects?: boolean;
}

const MAX_REDIRECTS = 5;

/** Sends all HTTP requests of a client. */
export class Http {
  readonly credentials: Credentials;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.credentials = new Credentials(settings.auth);
  }

  get maxBodySize(): number {
    return this.#settings.maxBodySize;
  }

  get maxEventSize(): number {
    return this.#settings.maxEventSize;
  }

  /** Returns the verified content of a card. */
  verifyCard(card: unknown): unknown {
    return this.#settings.verifyCard(card);
  }

  now(): number {
    return this.#settings.clock.now();
  }

  /** Resolves with any response; rejects without one. */
  async send(request: HttpRequest): Promise<Response> {
    let { url } = request;
    for (let hops = 0; ; hops += 1) {
      const response = await this.#authenticated({ ...request, url });
      if (!isRedirect(response)) return response;
      await discard(response);
      const target = redirectTarget(response, url);
      if (
        request.followsRedirects !== true ||
        target?.origin !== url.origin ||
        hops === MAX_REDIRECTS
      ) {
        throw refusedRedirect({ ...request, url }, target);
      }
      url = target;
    }
  }

  async #authenticated(request: HttpRequest): Promise<Response> {
    const response = await this.#once(request, false);
    if (response.status !== 401 || request.isAnonymous || !this.credentials.areRenewable) {
      return response;
    }
    await discard(response);
    return this.#once(request, true);
  }

  /**
   * Prepares the URL and headers of a request, including credentials. Refuses to send credentials over
   * unencrypted connections.
   */
  async prepare(
    request: Pick<HttpRequest, 'method' | 'url' | 'operation' | 'headers' | 'isAnonymous'>,
    isRejected: boolean,
  ): Promise<{ readonly url: URL; readonly headers: Headers }> {
    const { method, operation } = request;
    const headers = new Headers();
    for (const source of [this.#settings.headers, request.headers]) {
      for (const [name, value] of Object.entries(source)) setHeader(headers, name, value);
    }
    // Called before credentials are added, so that `onRequest` never receives them.
    await this.#settings.onRequest?.({ method, url: request.url.href, operation, headers });
    const url =
      request.isAnonymous === true
        ? request.url
        : await this.credentials.apply(request.url, headers, isRejected);
    refuseExposure(url, headers);
    return { url, headers };
  }

  async #once(request: HttpRequest, isRejected: boolean): Promise<Response> {
    const { method, body, signal } = request;
    const { url, headers } = await this.prepare(request, isRejected);
    signal?.throwIfAborted();
    request.sendUntil?.throwIfAborted();
    try {
      return await this.#settings.fetch(url.href, {
        method,
        headers,
        // Redirects are followed manually, so that the client sends nothing to another origin.
        redirect: 'manual',
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
      });
    } catch (error) {
      throw unreachable(request, error);
    }
  }
}

/** `GET https://host/path`, without the query, which can contain an API key. */
export function targetOf(request: Pick<HttpRequest, 'method' | 'url'>): string {
  return `${request.method} ${request.url.origin}${request.url.pathname}`;
}

/** The error of a failed connection: the reason of an abort, or `PEER_UNREACHABLE`. */
export function unreachable(
  request: Pick<HttpRequest, 'method' | 'url' | 'signal'>,
  error: unknown,
): unknown {
  if (request.signal?.aborted === true) return request.signal.reason;
  if (error instanceof LegateError) return error;
  return new LegateError(
    'PEER_UNREACHABLE',
    `can't reach ${request.url.origin}${request.url.pathname}: ${describe(error)}`,
    { cause: error },
  );
}

/** fetch reports only "fetch failed"; its cause has the details. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  const { cause } = error;
  if (cause instanceof Error) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (code === 'ECONNREFUSED') return 'connection refused';
    if (code === 'ENOTFOUND') return 'unknown host';
    if (cause.message !== '') return cause.message;
    if (code !== '') return code;
  }
  return error.message;
}

/** Releases the connection without reading the rest of the body. */
export async function discard(response: Response): Promise<void> {
  // The body of a broken connection needs no cancelling.
  await response.body?.cancel().catch(() => undefined);
}

function isRedirect(response: Response): boolean {
  return response.type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(response.status);
}

function redirectTarget(response: Response, base: URL): URL | undefined {
  const location = response.headers.get('Location');
  return location === null ? undefined : (URL.parse(location, base) ?? undefined);
}

function refusedRedirect(request: HttpRequest, target: URL | undefined): LegateError {
  const where = target === undefined ? 'elsewhere' : `to ${target.origin}${target.pathname}`;
  return new LegateError(
    'PEER_INVALID',
    `${targetOf(request)} redirects ${where}, which is not followed: use the final address`,
  );
}

/**
 * Adds the headers and credentials of a client to a request that other code sends.
 * @example const { url, headers } = await prepare(new URL('https://agent.example/rpc'), new Headers());
 */
export type RequestPreparer = (
  url: URL,
  headers: Headers,
) => Promise<{ readonly url: URL; readonly headers: Headers }>;

/**
 * The headers and credentials of client options, for requests that other code sends.
 * @example const prepare = requestPreparer({ auth: { bearer: token } });
 */
export function requestPreparer(options: ClientOptions): RequestPreparer {
  const http = new Http(withDefaults(options));
  return (url, headers) =>
    http.prepare(
      { method: 'POST', url, operation: 'forwarded', headers: Object.fromEntries(headers) },
      false,
    );
}
