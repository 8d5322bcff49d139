const absolute = /^https?:\/\/([^/?#]+)([^#]*)/i;

/**
 * Puts a target that names the server, as callers through a proxy may send it, into the usual form:
 * its path, and its host in place of the `Host` field (RFC 9112, 3.2.2). Other targets are left alone.
 */
export function readTarget(request: IncomingMessage): void {
  const { url = '/' } = request;
  if (url.startsWith('/')) return;
  const [, host, path = ''] = absolute.exec(url) ?? [];
  if (host === undefined) return;
  request.headers.host = host;
  request.url = path.startsWith('/') ? path : `/${path}`;
}
import type { IncomingMessage } from 'node:http';
