import { isLoopbackHost } from '../../auth/index.ts';

const schemes: Readonly<Record<string, 'http' | 'https'>> = {
  'http:': 'http',
  'grpc:': 'http',
  'https:': 'https',
  'grpcs:': 'https',
};

/**
 * Where an address of a card leads: `host:port`, which is encrypted save on this machine, or a URL
 * whose scheme says. Undefined for all else: a user and a password would end up in logs, and a gRPC
 * service has no path.
 */
export function locate(address: string): URL | undefined {
  const bare = /^(?:\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(address);
  const text = bare ? `https://${address}` : withKnownScheme(address);
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.port === '0' || url.href !== `${url.origin}/`) return undefined;
  if (!bare || !isLoopbackHost(url.hostname)) return url;
  // Read anew, not changed over: 443 would vanish as the port that goes without saying.
  return URL.parse(`http://${address}`) ?? undefined;
}

function withKnownScheme(address: string): string | undefined {
  const [, scheme = '', rest = ''] = /^([a-z]+:)\/\/(.+)$/i.exec(address) ?? [];
  const name = scheme.toLowerCase();
  return Object.hasOwn(schemes, name) ? `${schemes[name] ?? ''}://${rest}` : undefined;
}
