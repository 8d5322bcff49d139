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
import type { IncomingMessage, ServerResponse } from 'node:http';
