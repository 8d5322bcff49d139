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
