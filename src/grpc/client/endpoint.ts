import type { ChannelOptions } from '@grpc/grpc-js';
import { isIPv4 } from 'node:net';
import { isLoopbackHost } from '../../auth/index.ts';
import { errorMessage, LegateError } from '../../protocol/index.ts';
import { checkUrl, resolveChecked, systemResolver, type UrlPolicy } from '../../push/index.ts';

const schemes: Readonly<Record<string, 'http' | 'https'>> = {
  'http:': 'http',
  'grpc:': 'http',
  'https:': 'https',
  'grpcs:': 'https',
};

/**
 * Parses the address of a card: `host:port`, with TLS except on loopback, or a URL, whose scheme selects
 * TLS. Undefined for other addresses: credentials in a URL would appear in logs, and a gRPC service has no
 * path.
 */
export function locate(address: string): URL | undefined {
  const bare = /^(?:\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(address);
  const text = bare ? `https://${address}` : withKnownScheme(address);
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.port === '0' || url.href !== `${url.origin}/`) return undefined;
  if (!bare || !isLoopbackHost(url.hostname)) return url;
  // Parsed again, because changing the protocol of a URL drops port 443.
  return URL.parse(`http://${address}`) ?? undefined;
}

function withKnownScheme(address: string): string | undefined {
  const [, scheme = '', rest = ''] = /^([a-z]+:)\/\/(.+)$/i.exec(address) ?? [];
  const name = scheme.toLowerCase();
  return Object.hasOwn(schemes, name) ? `${schemes[name] ?? ''}://${rest}` : undefined;
}

/** The target of a grpc-js client. */
export interface Endpoint {
  readonly target: string;
  readonly options: ChannelOptions;
}

/** Milliseconds. */
const dnsTimeout = 5_000;

/**
 * The target of a connection. With a policy it is the list of checked addresses, IPv4 first: a second
 * lookup of the name could return different addresses.
 */
export async function endpointOf(url: URL, policy: UrlPolicy | undefined): Promise<Endpoint> {
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const port = url.port === '' ? (scheme === 'https' ? '443' : '80') : url.port;
  const host = url.hostname;
  if (policy === undefined) {
    return {
      // With the scheme of the resolver, because a host name could equal such a scheme.
      target: `dns:${host}:${port}`,
      // A proxy would receive plain-text calls that are meant for this machine.
      options: { 'grpc.enable_http_proxy': scheme === 'https' ? 1 : 0 },
    };
  }
  checkUrl(url.origin, policy, { code: 'PEER_UNREACHABLE' });
  const addresses = await lookUp(url, { scheme, policy });
  const v4 = addresses.filter((address) => isIPv4(address));
  const target =
    v4.length > 0
      ? `ipv4:${v4.map((address) => `${address}:${port}`).join(',')}`
      : `ipv6:${addresses.map((address) => `[${address}]:${port}`).join(',')}`;
  return {
    target,
    options: {
      'grpc.default_authority': `${host}:${port}`,
      'grpc.ssl_target_name_override': host.replace(/^\[|\]$/g, ''),
      'grpc.enable_http_proxy': 0,
    },
  };
}

async function lookUp(
  { hostname, origin }: URL,
  rules: { readonly scheme: 'http' | 'https'; readonly policy: UrlPolicy },
): Promise<readonly string[]> {
  try {
    return await resolveChecked(hostname, { ...rules, resolver: systemResolver, dnsTimeout });
  } catch (error) {
    if (error instanceof LegateError) throw error;
    const why = errorMessage(error);
    throw new LegateError('PEER_UNREACHABLE', `${origin} could not be found: ${why}`, {
      cause: error,
    });
  }
}
