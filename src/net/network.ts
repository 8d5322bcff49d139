import ipaddr from 'ipaddr.js';

/** Networks of recent addresses: a connection brings many requests from one address. */
const networks = new Map<string, string>();
const maxNetworks = 1_000;

/**
 * The network that limits count as one client: an IPv4 address, or the /64 network of an IPv6 address,
 * since one IPv6 host has all of its addresses.
 */
export function networkOf(address: string): string {
  const known = networks.get(address);
  if (known !== undefined) return known;
  const found = parseNetwork(address);
  if (networks.size >= maxNetworks) networks.clear();
  networks.set(address, found);
  return found;
}

function parseNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
