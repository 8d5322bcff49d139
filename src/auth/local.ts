import { isIPv4 } from 'node:net';
import { invalidConfiguration } from '../protocol/index.ts';
import { addressKind } from '../push/index.ts';

/**
 * Who counts as local. Everything that treats this machine differently from others asks here: the bind
 * guard, the default webhook policy, metrics, the HTTP API and the inspector's proxy.
 */

/**
 * What tells whether a request was sent by a program on this machine: a request of `node:http`.
 * @example
 * const origin: RequestOrigin = {
 *   headers: { host: 'localhost:5005', 'x-forwarded-for': '203.0.113.9' }, // forwarded, so not local
 *   socket: { remoteAddress: '127.0.0.1' },
 *   httpVersion: '1.1',
 * };
 */
export interface RequestOrigin {
  readonly headers: Readonly<Record<string, unknown>> & { readonly host?: string | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly httpVersion: string;
}

/** Headers by which proxies, load balancers and delivery networks pass on who called them, or identify themselves. */
const forwardingHeaders = new Set([
  'forwarded',
  'forwarded-for',
  'via',
  'x-forwarded',
  'x-original-forwarded-for',
  'x-original-host',
  'x-real-ip',
  'x-remote-ip',
  'x-proxyuser-ip',
  'client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'fastly-client-ip',
  'x-azure-clientip',
  'x-appengine-user-ip',
  'x-amzn-trace-id',
  'x-envoy-external-address',
  'x-envoy-internal',
  'cdn-loop',
  'cf-ray',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
]);

/** Some proxies write `_` for `-`. */
function isForwardingHeader(name: string): boolean {
  const usual = name.replaceAll('_', '-');
  return forwardingHeaders.has(usual) || usual.startsWith('x-forwarded-');
}

/**
 * Whether a request comes from a program on this machine that called the server by a local name. A
 * request that a proxy forwarded does not, wherever the proxy runs; nor does HTTP/1.0, which nginx
 * forwards by while adding no header. A proxy that does neither can't be told from a local program:
 * whatever must not be public needs a credential besides.
 * @example if (!isLocalRequest(request)) throw new LegateError('PERMISSION_DENIED', 'for this machine only');
 */
export function isLocalRequest({ headers, socket, httpVersion }: RequestOrigin): boolean {
  if (httpVersion === '1.0') return false;
  if (addressKind(socket.remoteAddress ?? '') !== 'loopback') return false;
  if (Object.keys(headers).some(isForwardingHeader)) return false;
  const name = hostName(headers.host);
  return name !== undefined && isLocalName(name);
}

/**
 * Where a server can be reached.
 * @example const address: ServerAddress = { host: '127.0.0.1', url: 'https://agents.example.com' };
 */
export interface ServerAddress {
  /** The address it listens on; unset listens on every address. */
  readonly host?: string | undefined;
  /** Where callers reach it: a public name means that a proxy forwards to it. */
  readonly url?: string | undefined;
  /** Further names under which it is called. */
  readonly hosts?: readonly string[] | undefined;
}

/**
 * Whether a server is configured so that only this machine can reach it.
 * @example isLocalOnly({ host: '127.0.0.1', url: 'https://agents.example.com' }) // false: behind a proxy
 */
export function isLocalOnly({ host, url, hosts = [] }: ServerAddress): boolean {
  const names = url === undefined ? hosts : [...hosts, URL.parse(url)?.hostname ?? ''];
  return isLoopbackHost(host) && names.every((name) => isLocalName(name.toLowerCase()));
}

/**
 * Whether a server that listens on this host accepts connections from this machine only.
 * @example isLoopbackHost('127.0.0.1') // true
 */
export function isLoopbackHost(host: string | undefined): boolean {
  if (host === undefined) return false;
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return bare.toLowerCase() === 'localhost' || addressKind(bare) === 'loopback';
}

/** `uri-host [ ":" port ]` of RFC 9110, 7.2, with names of letters, digits, `.`, `_` and `-` only. */
const hostField = /^(?<name>[\w.-]+|\[[\da-f:.]+\])(?::(?<port>\d{0,5}))?$/i;

/**
 * The host of a `Host` field in lower case; undefined where the field is missing or malformed. Read by
 * its grammar: a URL parser takes `evil.example@localhost` and `localhost#.evil.example` for localhost.
 * @example hostName('LOCALHOST:5005') // 'localhost'
 */
export function hostName(field: string | undefined): string | undefined {
  return hostField.exec(field ?? '')?.groups?.['name']?.toLowerCase();
}

/**
 * The port of a `Host` field; undefined if it has none.
 * @example hostPort('localhost:5005') // 5005
 */
export function hostPort(field: string | undefined): number | undefined {
  const port = hostField.exec(field ?? '')?.groups?.['port'];
  return port === undefined || port === '' ? undefined : Number(port);
}

/**
 * Whether a host, as `hostName` returns it, stands for this machine whatever DNS says.
 * @example isLocalName('[::1]') // true
 */
export function isLocalName(name: string): boolean {
  if (name === 'localhost' || /^(?:[\w-]+\.)+localhost$/.test(name)) return true;
  if (name.startsWith('[')) return addressKind(name.slice(1, -1)) === 'loopback';
  // In full: `127.1` and `0x7f.0.0.1` are names by the grammar, and no client of ours sends them.
  return name.startsWith('127.') && isIPv4(name);
}

/**
 * Where a server wants to listen.
 * @example const options: BindOptions = { host: '0.0.0.0', isAuthenticated: !auth.isOpen };
 */
export interface BindOptions {
  /** The address that the server listens on; unset listens on every address. */
  readonly host?: string;
  /** Whether callers must authenticate. */
  readonly isAuthenticated: boolean;
  /** Accepts unauthenticated callers from any address. @default false */
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
}

/**
 * Refuses to listen on a non-loopback address without authentication. Names other than `localhost` count as
 * non-loopback, because they may resolve to any address.
 * @example checkBind({ host: '127.0.0.1', isAuthenticated: false });
 */
export function checkBind(options: BindOptions): void {
  const { host, isAuthenticated, dangerouslyAllowUnauthenticatedRemote = false } = options;
  if (isAuthenticated || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw invalidConfiguration(
    `refusing to listen on ${host === undefined || host === '' ? 'every address' : host} without ` +
      'authentication: configure auth, listen on 127.0.0.1, or set ' +
      'dangerouslyAllowUnauthenticatedRemote',
  );
}
