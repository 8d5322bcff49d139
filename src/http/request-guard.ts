import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuthError, hostName, isLocalName } from '../auth/index.ts';
import { LegateError } from '../protocol/index.ts';

/**
 * Refuses cross-site requests of web pages. Browsers add `Origin` to every request with an unsafe method;
 * other clients send none. The server's own origin, the origins of `cors`, and origins that a framework
 * in front of the handler has allowed are accepted.
 */
export function refuseForeignPages(
  request: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
): void {
  const { origin, host } = request.headers;
  if (origin === undefined || request.method === 'GET' || request.method === 'HEAD') return;
  if (origins.includes('*') || origins.includes(origin)) return;
  if (response.hasHeader('access-control-allow-origin')) return;
  if (host !== undefined && URL.parse(origin)?.host === host.toLowerCase()) return;
  throw new AuthError(
    'PERMISSION_DENIED',
    'pages of this origin must not call this server; add the origin to cors',
    [],
  );
}

/**
 * Refuses requests with an unknown host name on a server that listens on loopback. The owner of a domain
 * can resolve it to this machine (DNS rebinding). Pages of that domain would then have the server's own
 * origin.
 */
export function refuseForeignNames(request: IncomingMessage, known: readonly string[]): void {
  const name = hostName(request.headers.host);
  if (name !== undefined && (isLocalName(name) || known.includes(name))) return;
  throw new AuthError(
    'PERMISSION_DENIED',
    'the Host header has an unknown name; use localhost, or set url or hosts',
    [],
  );
}

const methods = 'GET, POST, DELETE, OPTIONS';
const exposed =
  'A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate, X-A2A-Context-Id';

/**
 * Sets CORS headers for pages of these origins; `*` allows all pages. Answers a preflight request and
 * returns true. Credentials are never allowed, so pages can't use the cookies of their visitors.
 */
export function allowOrigin(
  origins: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (origins.length === 0) return false;
  const isOpen = origins.includes('*');
  // The response depends on the origin, also for requests without one.
  if (!isOpen) response.setHeader('vary', 'Origin');
  const { origin } = request.headers;
  if (origin === undefined || (!isOpen && !origins.includes(origin))) return false;
  response.setHeader('access-control-allow-origin', isOpen ? '*' : origin);
  response.setHeader('access-control-expose-headers', exposed);
  const isPreflight =
    request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
  if (!isPreflight) return false;
  const requested = request.headers['access-control-request-headers'];
  response
    .writeHead(204, {
      'access-control-allow-methods': methods,
      ...(requested !== undefined && { 'access-control-allow-headers': requested }),
      'access-control-max-age': '600',
    })
    .end();
  return true;
}

/**
 * Refuses requests without a Host header, or with two (RFC 9112, 3.2): a proxy could route by one of
 * them and this server by the other.
 */
export function refuseAmbiguousHost(request: IncomingMessage, response: ServerResponse): void {
  const { rawHeaders, httpVersion } = request;
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && isHost(name)).length;
  if (count === 1 || (count === 0 && httpVersion !== '1.1')) return;
  response.setHeader('connection', 'close');
  throw new LegateError(
    'INVALID_REQUEST',
    count === 0
      ? 'the Host header is missing; send it'
      : `the Host header is sent ${count} times; send it once`,
  );
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

const absoluteTarget = /^https?:\/\/([^/?#]+)([^#]*)/i;

/**
 * Rewrites an absolute-form request target, which clients of proxies send. The path becomes the target,
 * and the host replaces the `Host` header (RFC 9112, 3.2.2).
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '/' } = request;
  if (url.startsWith('/')) return;
  const [, host, path = ''] = absoluteTarget.exec(url) ?? [];
  if (host === undefined) return;
  request.headers.host = host;
  request.url = path.startsWith('/') ? path : `/${path}`;
}
