import ipaddr from 'ipaddr.js';

/**
 * What kind of place an IP address is. `forbidden` addresses are never a webhook, whatever the
 * policy says: link-local (cloud metadata), unspecified, multicast, reserved and documentation
 * ranges, and IPv6 ranges that carry an IPv4 address inside (6to4, Teredo, NAT64), because a
 * gateway would take those to a host that was never checked.
 * @example const kind: AddressKind | undefined = addressKind('169.254.169.254'); // 'forbidden'
 */
export type AddressKind = 'public' | 'loopback' | 'private' | 'forbidden';

/** Metadata services that sit outside the link-local range. */
const metadataServices = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254']);

/** Global unicast; every other IPv6 range is either named by `range()` or unassigned. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Classifies an IP address; undefined when the text is no IP address at all.
 * @example addressKind('::ffff:10.0.0.1') // 'private'
 */
export function addressKind(address: string): AddressKind | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  // `process` turns an IPv4-mapped address into the IPv4 address that a socket would connect to.
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
 * Ports of well-known services that are not HTTP, as browsers refuse them too: a service that reads
 * line by line could take the body of a webhook for commands.
 */
export const unsafePorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667,
  6668, 6669, 6679, 6697, 10080, 11211,
]);
