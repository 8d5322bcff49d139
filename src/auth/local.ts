import { isIPv4 } from 'node:net';
import { invalidConfiguration } from '../protocol/index.ts';
import { addressKind } from '../push/index.ts';

/**
 * Which requests and servers count as local. Used by everything that treats this machine differently from
 * others: the bind guard, the default webhook policy, metrics, the HTTP API and the inspector's proxy.
 */

/**
 * The part of a `node:http` request that shows whether a program on this machine sent it.
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

/**
 * Headers in which proxies, load balancers and delivery networks forward the client's address or identify
 * themselves.
 */
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

/** Some proxies write `_` instead of `-`. */
function isForwardingHeader(name: string): boolean {
  const usual = name.replaceAll('_', '-');
  return forwardingHeaders.has(usual) || usual.startsWith('x-forwarded-');
}

/**
 * Whether a program on this machine sent the request and called the server by a local name. Requests that
 * a proxy forwarded don't count, wherever the proxy runs. HTTP/1.0 requests don't count either: nginx
 * forwards with HTTP/1.0 and adds no header. A proxy that does neither can't be distinguished from a
 * local program, so anything that must not be public needs a credential as well.
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
  /** The address that the server listens on; unset listens on every address. */
  readonly host?: string | undefined;
  /** The URL of the server for callers: a public name means that a proxy forwards to it. */
  readonly url?: string | undefined;
  /** Further host names of the server. */
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
 * The host of a `Host` field in lower case; undefined if the field is missing or malformed. Parsed by its
 * grammar: a URL parser reads `evil.example@localhost` and `localhost#.evil.example` as localhost.
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
 * Whether a host, as `hostName` returns it, means this machine regardless of DNS.
 * @example isLocalName('[::1]') // true
 */
export function isLocalName(name: string): boolean {
  if (name === 'localhost' || /^(?:[\w-]+\.)+localhost$/.test(name)) return true;
  if (name.startsWith('[')) return addressKind(name.slice(1, -1)) === 'loopback';
  // Four decimal numbers only: by the grammar `127.1` and `0x7f.0.0.1` are names, and no client of ours
  // sends them.
  return name.startsWith('127.') && isIPv4(name);
}

/**
 * Where a server is about to listen.
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
