import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuthError, hostName, isLocalName } from '../auth/index.ts';

/**
 * Refuses what a web page sends in the name of whoever looks at it. A browser adds `Origin` to all
 * that changes something, other programs do not send one; a page needs to be of this server itself or
 * of an origin that the operator lists. Where a framework in front has allowed the origin, it is.
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
  throw new AuthError('PERMISSION_DENIED', 'pages of this origin may not call this server', []);
}

/**
 * Refuses requests that call a server of this machine by a foreign name. Whoever owns a name can let
 * it point here (DNS rebinding), and a page of that name would then be of the server's own origin.
 */
export function refuseForeignNames(request: IncomingMessage, known: readonly string[]): void {
  const name = hostName(request.headers.host);
  if (name !== undefined && (isLocalName(name) || known.includes(name))) return;
  throw new AuthError(
    'PERMISSION_DENIED',
    'this server is not known by the name in the Host header; call it by localhost, or set url',
    [],
  );
}

const methods = 'GET, POST, DELETE, OPTIONS';
const exposed =
  'A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate, X-A2A-Context-Id';

/**
 * Lets pages of these origins call, by the origin as the browser names it; `*` lets all pages call.
 * Says true when the request only asked whether they may, and was answered. Cookies are never part
 * of it, so no page can act in the name of whoever looks at it.
 */
export function allowOrigin(
  origins: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (origins.length === 0) return false;
  const isOpen = origins.includes('*');
  // The answer depends on the origin, also for requests that come without one.
  if (!isOpen) response.setHeader('vary', 'Origin');
  const { origin } = request.headers;
  if (origin === undefined || (!isOpen && !origins.includes(origin))) return false;
  response.setHeader('access-control-allow-origin', isOpen ? '*' : origin);
  response.setHeader('access-control-expose-headers', exposed);
  const isQuestion =
    request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
  if (!isQuestion) return false;
  const asked = request.headers['access-control-request-headers'];
  response
    .writeHead(204, {
      'access-control-allow-methods': methods,
      ...(asked !== undefined && { 'access-control-allow-headers': asked }),
      'access-control-max-age': '600',
    })
    .end();
  return true;
}
