import { type AgentCard, type AgentInterface, LegateError } from '../protocol/index.ts';
import type { ClientOptions } from './options.ts';

export type SpokenVersion = '1.0' | '0.3';

/** Where and how an agent is called. */
export interface ChosenInterface {
  readonly interface: AgentInterface;
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  readonly version: SpokenVersion;
  readonly url: URL;
}

/** See the options of the same names. */
export interface InterfacePreference {
  readonly binding?: ClientOptions['binding'] | undefined;
  readonly version?: ClientOptions['version'] | undefined;
}

/**
 * The interface to call: of the newest version spoken here, the first in the card's order (8.3.2),
 * or the first of the preferred binding. An older version is taken only where the card offers none
 * newer, or where it was asked for.
 * @example const { url, binding, version } = chooseInterface(card, { binding: 'HTTP+JSON' });
 */
export function chooseInterface(
  card: AgentCard,
  preference: InterfacePreference = {},
): ChosenInterface {
  const spoken = card.supportedInterfaces
    .map(readInterface)
    .filter((candidate) => candidate !== undefined);
  const version =
    preference.version ?? (spoken.some((each) => each.version === '1.0') ? '1.0' : '0.3');
  const candidates = spoken.filter((each) => each.version === version);
  const chosen = candidates.find((each) => each.binding === preference.binding) ?? candidates[0];
  if (chosen !== undefined) return chosen;
  const offered = card.supportedInterfaces
    .map((each) => `${each.protocolBinding} ${each.protocolVersion}`)
    .join(', ');
  throw new LegateError(
    'PEER_INVALID',
    `the card of ${JSON.stringify(card.name)} offers no interface to call: it lists ${
      offered === '' ? 'none' : offered
    }, and this client speaks JSONRPC and HTTP+JSON in ${preference.version ?? '1.0 and 0.3'} over http and https`,
  );
}

function readInterface(offered: AgentInterface): ChosenInterface | undefined {
  const binding = offered.protocolBinding.toUpperCase();
  const version = spokenVersion(offered.protocolVersion);
  const url = URL.parse(offered.url);
  if (binding !== 'JSONRPC' && binding !== 'HTTP+JSON') return undefined;
  if (version === undefined || url === null || !isCallable(url)) return undefined;
  return { interface: offered, binding, version, url };
}

/** Patches are never negotiated; 0.2 differs from 0.3 in nothing that is read or sent here. */
function spokenVersion(declared: string): SpokenVersion | undefined {
  if (/^1\.0(\.|$)/.test(declared)) return '1.0';
  return /^0\.[23](\.|$)/.test(declared) ? '0.3' : undefined;
}

/** An address with a user and a password in it would put them into logs. */
export function isCallable(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
