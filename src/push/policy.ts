import ipaddr from 'ipaddr.js';
import { type ErrorCode, LegateError } from '../protocol/index.ts';

/**
 * The addresses that outbound calls can reach. Registration and connect use the same object.
 * @example
 * const policy: UrlPolicy = {
 *   schemes: ['https'],
 *   allowLoopback: false,
 *   allowPrivate: false,
 *   allowedHosts: ['example.com'],
 * };
 */
export interface UrlPolicy {
  /**
   * Plain `http` to a loopback target is allowed even if only `https` is listed: nothing crosses the
   * network. It still needs `allowLoopback`.
   */
  readonly schemes: readonly ('http' | 'https')[];
  readonly allowLoopback: boolean;
  /**
   * Allows loopback only if the URL names it (`localhost`, `127.0.0.1`, `[::1]`), not if a public name
   * resolves to it. @default false
   */
  readonly loopbackAsWritten?: boolean;
  /** RFC 1918, unique local and carrier-grade NAT addresses. */
  readonly allowPrivate: boolean;
  /** When set, only these hosts and their subdomains. The address rules still apply. */
  readonly allowedHosts?: readonly string[];
  /**
   * Hosts that the operator trusts, whatever they resolve to. Each is allowed by that name only: the
   * same address in another spelling is still refused. `*.svc.cluster.local` matches all names below
   * it. These can resolve to private addresses, but to loopback and metadata services only if the
   * policy allows those: any tenant of a cluster can create such a name.
   */
  readonly allowedNames?: readonly string[];
  /** Allows plain `http` to `allowedNames` even if only `https` is listed. @default false */
  readonly httpToAllowedNames?: boolean;
  /** @default every port except those of well-known services that are not HTTP */
  readonly ports?: readonly number[];
}

/**
 * http and https anywhere on the public network; loopback and private targets never.
 * @example const fetch = guardedFetch({ ...publicPolicy, allowedHosts: ['partners.example'] });
 */
export const publicPolicy: UrlPolicy = Object.freeze({
  schemes: ['http', 'https'] as const,
  allowLoopback: false,
  allowPrivate: false,
});

/**
 * https anywhere on the public network; loopback and private targets never.
 * @example await serve(greeter, { push: { policy: { ...publicHttpsPolicy, ports: [443] } } });
 */
export const publicHttpsPolicy: UrlPolicy = Object.freeze({
  schemes: ['https'] as const,
  allowLoopback: false,
  allowPrivate: false,
});

/**
 * https anywhere on the public network, or anything on this machine.
 * @example await serve(greeter, { push: { policy: httpsOrLoopbackPolicy } });
 */
export const httpsOrLoopbackPolicy: UrlPolicy = Object.freeze({
  schemes: ['https'] as const,
  allowLoopback: true,
  allowPrivate: false,
});

/**
 * http and https to any address that can be a server: for URLs that the operator configured.
 * @example const fetch = guardedFetch(operatorPolicy, { tls: clientTls({ ca: 'ca.pem' }) });
 */
export const operatorPolicy: UrlPolicy = Object.freeze({
  schemes: ['http', 'https'] as const,
  allowLoopback: true,
  allowPrivate: true,
});

/**
 * A URL or one of its addresses is not allowed. Retrying does not help; a different policy does.
 * @example if (error instanceof UrlRefused) console.warn(error.message);
 */
export class UrlRefused extends LegateError {
  constructor(code: ErrorCode, field: string, description: string) {
    super(
      code,
      `${field}: ${description}`,
      code === 'INVALID_PARAMS' ? { violations: [{ field, description }] } : {},
    );
  }
}

/**
 * Field and code of the error of a refused URL.
 * @example const options: CheckUrlOptions = { field: 'nlg.url', code: 'CONFIGURATION_INVALID' };
 */
export interface CheckUrlOptions {
  /** The path of the field in the request, for the error. @default 'url' */
  readonly field?: string;
  /** @default 'INVALID_PARAMS' */
  readonly code?: ErrorCode;
}

const maxUrlLength = 2_048;

/**
 * Checks the text of a URL. Names are resolved and checked when connecting. Throws `UrlRefused` with
 * the reason.
 * @example checkUrl('https://hooks.example.com/a', publicPolicy)
 */
export function checkUrl(text: string, policy: UrlPolicy, options: CheckUrlOptions = {}): URL {
  const { field = 'url', code = 'INVALID_PARAMS' } = options;
  const problem = findProblem(text, policy);
  if (problem instanceof URL) return problem;
  throw new UrlRefused(code, field, problem);
}

function findProblem(text: string, policy: UrlPolicy): URL | string {
  if (text.length > maxUrlLength) return `must not be longer than ${maxUrlLength} characters`;
  // The URL parser silently drops or corrects these, so that the displayed URL would differ from the
  // called one.
  if (/[\p{Cc}\p{Zs}\\]/u.test(text)) {
    return 'must not contain spaces, control characters or backslashes';
  }
  if (!/^https?:\/\/[^/]/i.test(text)) {
    return `must be an absolute ${policy.schemes.join(' or ')} address`;
  }
  const url = URL.parse(text);
  if (url === null) return 'is not a valid address';
  if (url.username !== '' || url.password !== '') {
    return 'must not contain a user name or password; use authentication instead';
  }
  if (url.hash !== '' || text.includes('#')) return 'must not contain a fragment';
  return spellingProblem(text, url) ?? portProblem(url, policy) ?? hostProblem(url, policy) ?? url;
}

/**
 * The parser reads `0x7f.1`, `2130706433`, `%31` and full-width digits as an IPv4 address, and
 * `%6cocalhost` as a name. No legitimate client writes those, and a rule about a name must apply to
 * that spelling only. IPv6 and international names have several legitimate spellings.
 */
function spellingProblem(text: string, url: URL): string | undefined {
  const host = url.hostname;
  if (host.startsWith('[') || host.includes('xn--')) return undefined;
  const spelled = /^https?:\/\/(?<host>[^/:?#]*)/i.exec(text)?.groups?.['host'];
  if (spelled?.toLowerCase() === host) return undefined;
  return `the host must be written in its usual form, ${host}`;
}

function portProblem(url: URL, policy: UrlPolicy): string | undefined {
  const port = portOf(url);
  if (policy.ports !== undefined) {
    return policy.ports.includes(port) ? undefined : `port ${port} is not allowed`;
  }
  return port === 0 || unsafePorts.has(port) ? `port ${port} is not allowed` : undefined;
}

function hostProblem(url: URL, policy: UrlPolicy): string | undefined {
  const host = url.hostname;
  if (host.endsWith('.')) return 'the host must be written without a trailing dot';
  const isNamed = vouchedFor(host, policy) !== undefined;
  if (!isNamed && policy.allowedHosts !== undefined && !matchesHost(host, policy.allowedHosts)) {
    return `host ${host} is not on the list of allowed hosts`;
  }
  return targetProblem({ scheme: schemeOf(url), host, kind: writtenKind(host) }, policy);
}

interface Target {
  readonly scheme: 'http' | 'https';
  /** The host as the URL names it. */
  readonly host: string;
  readonly kind: AddressKind;
}

/** The reason to refuse an address of this kind under this name; undefined if it is allowed. */
export function targetProblem(target: Target, policy: UrlPolicy): string | undefined {
  const { scheme, host, kind } = target;
  const vouched = vouchedFor(host, policy);
  if (vouched !== 'name') {
    if (kind === 'forbidden') return `host ${host} has an address that is never allowed`;
    if (kind === 'loopback' && !policy.allowLoopback) {
      return `host ${host} is on the loopback network, which is not allowed`;
    }
    if (kind === 'loopback' && policy.loopbackAsWritten === true && writtenKind(host) !== kind) {
      return `host ${host} resolves to a loopback address; use localhost or 127.0.0.1 in the URL`;
    }
    if (kind === 'private' && !policy.allowPrivate && vouched === undefined) {
      return `host ${host} is on a private network, which is not allowed`;
    }
  }
  if (policy.schemes.includes(scheme)) return undefined;
  if (scheme === 'http' && kind === 'loopback' && policy.allowLoopback) return undefined;
  if (vouched !== undefined && policy.httpToAllowedNames === true) return undefined;
  return `must be an ${policy.schemes.join(' or ')} address${policy.allowLoopback ? ' (http is for loopback only)' : ''}`;
}

/** Whether `allowedNames` contains this host: by name, or by a wildcard. */
function vouchedFor(
  host: string,
  { allowedNames = [] }: UrlPolicy,
): 'name' | 'wildcard' | undefined {
  if (allowedNames.includes(host)) return 'name';
  const isBelow = (name: string): boolean =>
    name.startsWith('*.') && host.endsWith(name.slice(1).toLowerCase());
  return literalAddress(host) === undefined && allowedNames.some(isBelow) ? 'wildcard' : undefined;
}

function writtenKind(host: string): AddressKind {
  const literal = literalAddress(host);
  return literal === undefined ? kindOfName(host) : (addressKind(literal) ?? 'forbidden');
}

/** Classifies a host by its name alone. A public-looking name is checked again once it is resolved. */
function kindOfName(host: string): AddressKind {
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback';
  if (!host.includes('.') || /\.(local|internal|home\.arpa)$/.test(host)) return 'private';
  return 'public';
}

function matchesHost(host: string, allowed: readonly string[]): boolean {
  return allowed.some((entry) => {
    const wanted = entry.toLowerCase();
    return host === wanted || (literalAddress(host) === undefined && host.endsWith(`.${wanted}`));
  });
}

export function schemeOf(url: URL): 'http' | 'https' {
  return url.protocol === 'http:' ? 'http' : 'https';
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'http:' ? 80 : 443;
}

/**
 * The kind of an IP address. `forbidden` addresses are refused by every policy: link-local (cloud
 * metadata), unspecified, multicast, reserved and documentation ranges, and IPv6 ranges that embed an
 * IPv4 address (6to4, Teredo, NAT64), because a gateway would route those to a host that was never
 * checked.
 * @example const kind: AddressKind | undefined = addressKind('169.254.169.254'); // 'forbidden'
 */
export type AddressKind = 'public' | 'loopback' | 'private' | 'forbidden';

/** Metadata services outside the link-local range. */
const metadataServices = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254']);

/** Global unicast; every other IPv6 range is either named by `range()` or unassigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Classifies an IP address; undefined for other texts.
 * @example addressKind('::ffff:10.0.0.1') // 'private'
 */
export function addressKind(address: string): AddressKind | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  // `process` converts an IPv4-mapped address to the IPv4 address that a socket would connect to.
  const parsed = ipaddr.process(address);
  if (metadataServices.has(parsed.toString())) return 'forbidden';
  switch (parsed.range()) {
    case 'loopback':
      return 'loopback';
    case 'private':
    case 'carrierGradeNat':
    case 'uniqueLocal':
      return 'private';
    case 'unicast':
      if (parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast)) return 'forbidden';
      return 'public';
    default:
      return 'forbidden';
  }
}

/** The host of a URL as a bare IP address, or undefined when it is a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}

/**
 * Ports of well-known services that are not HTTP; browsers refuse them, too. A line-based service could
 * interpret the body of a webhook as commands.
 */
const unsafePorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667,
  6668, 6669, 6679, 6697, 10080, 11211,
]);
