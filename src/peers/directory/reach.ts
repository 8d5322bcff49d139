import type { AgentCard, AgentInterface } from '../../protocol/index.ts';

/**
 * How cards name the message bus among an agent's interfaces.
 * @example card.supportedInterfaces.some(({ protocolBinding }) => protocolBinding === busBinding);
 */
export const busBinding = 'urn:legate:binding:bus';
/**
 * How we name agents that take one request at `/tasks/send` and answer it in the response.
 * @example card.supportedInterfaces.some(({ protocolBinding }) => protocolBinding === plainBinding);
 */
export const plainBinding = 'urn:legate:binding:tasks-send';

/** The ways to reach a peer. */
export type Reach = 'bus' | 'http' | 'plain';

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
 * The name under which an interface is reached on the bus; undefined where it is not on it.
 * @example busNameOf(busInterface('bob')) // 'bob'
 */
export function busNameOf({ protocolBinding, url }: AgentInterface): string | undefined {
  if (protocolBinding !== busBinding || !url.startsWith(busAddress)) return undefined;
  const name = url.slice(busAddress.length);
  return busName.test(name) ? name : undefined;
}

/**
 * The ways by which the agent of a card can be reached, in the order of the card.
 * @example const isOnBus = reachesOf(card).includes('bus');
 */
export function reachesOf(card: AgentCard): readonly Reach[] {
  return [...new Set(card.supportedInterfaces.flatMap((each) => reachOf(each) ?? []))];
}

/**
 * How an interface of a card is reached; undefined where it is not.
 * @example reachOf(busInterface('bob')) // 'bus'
 */
export function reachOf(offered: AgentInterface): Reach | undefined {
  if (busNameOf(offered) !== undefined) return 'bus';
  if (!/^https?:/i.test(offered.url)) return undefined;
  if (offered.protocolBinding === plainBinding) return 'plain';
  return ['JSONRPC', 'HTTP+JSON'].includes(offered.protocolBinding.toUpperCase())
    ? 'http'
    : undefined;
}

/**
 * A fetched card, held to the address it was fetched for. A card may name any address at all, and
 * what is sent there would carry our credentials; and behind a gateway it often names one that only
 * its own machine can reach.
 */
export function anchored(card: AgentCard, address: string): AgentCard {
  const { origin } = new URL(address);
  const isHere = ({ url }: AgentInterface): boolean => URL.parse(url)?.origin === origin;
  const own = card.supportedInterfaces.filter(isHere);
  if (own.length > 0) return { ...card, supportedInterfaces: own };
  const first = card.supportedInterfaces.find((each) => reachOf(each) === 'http');
  const { protocolBinding = 'JSONRPC', protocolVersion = '1.0' } = first ?? {};
  const url = address.replace(/\/+$/, '');
  return { ...card, supportedInterfaces: [{ url, protocolBinding, protocolVersion }] };
}
