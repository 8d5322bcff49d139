import type { AgentCard, AgentInterface } from '../../protocol/index.ts';

/** The binding of the message bus in the interfaces of a card. */
export const busBinding = 'urn:legate:binding:bus';
/** Our binding for agents that accept one request at `/tasks/send` and answer in the response. */
export const plainBinding = 'urn:legate:binding:tasks-send';

/** The transports to a peer. */
export type TransportKind = 'bus' | 'http' | 'grpc' | 'plain';

const busAddress = 'legate-bus:agent.task.';
const busName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * The interface of an agent on the bus, for its card.
 * @example busInterface('bob').url // 'legate-bus:agent.task.bob'
 */
export function busInterface(name: string): AgentInterface {
  return { url: busAddress + name, protocolBinding: busBinding, protocolVersion: '1.0' };
}

/**
 * The name of an interface on the bus; undefined if it is not on the bus.
 * @example busNameOf(busInterface('bob')) // 'bob'
 */
export function busNameOf({ protocolBinding, url }: AgentInterface): string | undefined {
  if (protocolBinding !== busBinding || !url.startsWith(busAddress)) return undefined;
  const name = url.slice(busAddress.length);
  return busName.test(name) ? name : undefined;
}

/** The transports that a card offers, in the order of the card. */
export function transportKindsOf(card: AgentCard): readonly TransportKind[] {
  return [...new Set(card.supportedInterfaces.flatMap((each) => transportKindOf(each) ?? []))];
}

/** The transport of an interface; undefined for unsupported ones. */
export function transportKindOf(offered: AgentInterface): TransportKind | undefined {
  if (busNameOf(offered) !== undefined) return 'bus';
  if (isGrpc(offered)) return hostOf(offered) === undefined ? undefined : 'grpc';
  if (!/^https?:/i.test(offered.url)) return undefined;
  if (offered.protocolBinding === plainBinding) return 'plain';
  return ['JSONRPC', 'HTTP+JSON'].includes(offered.protocolBinding.toUpperCase())
    ? 'http'
    : undefined;
}

function isGrpc({ protocolBinding }: AgentInterface): boolean {
  return protocolBinding.toUpperCase() === 'GRPC';
}

/** Addresses of gRPC are URLs, or a host and a port alone. */
function hostOf({ url }: AgentInterface): string | undefined {
  const isBare = /^(?:\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(url);
  // The URL parser does not reliably find hosts in URLs with gRPC schemes.
  const parsed = URL.parse(isBare ? `https://${url}` : url.replace(/^grpc(s?):/i, 'http$1:'));
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.hostname : undefined;
}

/**
 * Restricts a fetched card to the origin it was fetched from. A card may name any address, and calls
 * to it would carry our credentials; behind a gateway it often names an internal address. gRPC uses
 * another port, so only the host is compared.
 */
export function anchored(card: AgentCard, address: string): AgentCard {
  const { origin, hostname } = new URL(address);
  const isHere = (each: AgentInterface): boolean =>
    isGrpc(each) ? hostOf(each) === hostname : URL.parse(each.url)?.origin === origin;
  const own = card.supportedInterfaces.filter(isHere);
  if (own.length > 0) return { ...card, supportedInterfaces: own };
  const first = card.supportedInterfaces.find((each) => transportKindOf(each) === 'http');
  const { protocolBinding = 'JSONRPC', protocolVersion = '1.0' } = first ?? {};
  const url = address.replace(/\/+$/, '');
  return { ...card, supportedInterfaces: [{ url, protocolBinding, protocolVersion }] };
}
