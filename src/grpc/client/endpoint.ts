import type { ChannelOptions } from '@grpc/grpc-js';
import { isIPv4 } from 'node:net';
import { LegateError } from '../../protocol/index.ts';
import { checkUrl, resolveChecked, systemResolver, type UrlPolicy } from '../../push/index.ts';

/** What gRPC is told to connect to. */
export interface Endpoint {
  readonly target: string;
  readonly options: ChannelOptions;
}

/** Milliseconds. */
const dnsTimeout = 5_000;

/**
 * Where a connection goes. Under a policy that is to addresses which were checked, by the name they
 * were found under: looked up again, the name could mean others. Those of IPv4 go first.
 */
export async function endpointOf(url: URL, policy: UrlPolicy | undefined): Promise<Endpoint> {
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const port = url.port === '' ? (scheme === 'https' ? '443' : '80') : url.port;
  const host = url.hostname;
  if (policy === undefined) {
    return {
      // Names the resolver, for otherwise a host by the name of one would be taken for it.
      target: `dns:${host}:${port}`,
      // Through a proxy, what is meant for this machine would leave it in plain text.
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
    const why = error instanceof Error ? error.message : 'unknown failure';
    throw new LegateError('PEER_UNREACHABLE', `${origin} could not be found: ${why}`, {
      cause: error,
    });
  }
}
