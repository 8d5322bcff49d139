import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuthError } from '../auth/index.ts';
import { addressKind } from '../push/index.ts';

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
  const { host } = request.headers;
  if (host !== undefined && isKnown(host, known)) return;
  throw new AuthError(
    'PERMISSION_DENIED',
    'this server is not known by the name in the Host header; call it by localhost, or set url',
    [],
  );
}

/** Good `Host` headers, by the names they were held against: the same few come again and again. */
const passed = new WeakMap<readonly string[], Set<string>>();
const maxPassed = 100;

function isKnown(host: string, known: readonly string[]): boolean {
  const hosts = passed.get(known) ?? new Set();
  if (hosts.has(host)) return true;
  const name = URL.parse(`http://${host}`)?.hostname;
  if (name === undefined || !(isLocal(name) || known.includes(name))) return false;
  if (hosts.size < maxPassed) passed.set(known, hosts.add(host));
  return true;
}

function isLocal(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  return addressKind(name.replaceAll(/^\[|\]$/g, '')) === 'loopback';
}
