import { type AgentCard, type AgentInterface, LegateError } from '../protocol/index.ts';
import type { ClientBinding } from './binding.ts';
import type { BindingName, ClientOptions } from './options.ts';

export type SpokenVersion = '1.0' | '0.3';

/**
 * Where and how an agent is called.
 * @example
 * const chosen: ChosenInterface = chooseInterface(card, { version: '1.0' });
 * console.log(`${chosen.binding} at ${chosen.url.host}`); // 'JSONRPC at agent.example'
 */
export interface ChosenInterface {
  readonly interface: AgentInterface;
  readonly binding: BindingName;
  readonly version: SpokenVersion;
  /** Where it is; of other bindings than the two over HTTP, as they locate it. */
  readonly url: URL;
}

/** See the options of the same names. */
export interface InterfacePreference {
  readonly binding?: ClientOptions['binding'] | undefined;
  readonly version?: ClientOptions['version'] | undefined;
  readonly bindings?: readonly ClientBinding[] | undefined;
}

/**
 * The interface to call: of the newest supported version, the first in the card's order (8.3.2),
 * or the first of the preferred binding. An older version is used only if the card offers none
 * newer, or on request.
 * @example const { url, binding, version } = chooseInterface(card, { binding: 'HTTP+JSON' });
 */
export function chooseInterface(
  card: AgentCard,
  preference: InterfacePreference = {},
): ChosenInterface {
  const { bindings = [] } = preference;
  const spoken = card.supportedInterfaces
    .map((offered) => readInterface(offered, bindings))
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
    }, and this client speaks ${spokenBindings(bindings)}, in ${preference.version ?? '1.0 and 0.3'}`,
  );
}

function spokenBindings(bindings: readonly ClientBinding[]): string {
  const over = 'JSONRPC and HTTP+JSON over http and https';
  return [over, ...new Set(bindings.map(({ binding }) => binding))].join(', and ');
}

function readInterface(
  offered: AgentInterface,
  bindings: readonly ClientBinding[],
): ChosenInterface | undefined {
  const name = offered.protocolBinding.toUpperCase();
  const version = spokenVersion(offered.protocolVersion);
  if (version === undefined) return undefined;
  if (name === 'JSONRPC' || name === 'HTTP+JSON') {
    const url = URL.parse(offered.url);
    if (url === null || !isCallable(url)) return undefined;
    return { interface: offered, binding: name, version, url };
  }
  const given = bindings.find(({ binding }) => binding === name);
  const url = given?.locate(offered.url);
  if (given === undefined || url === undefined || !isCallable(url)) return undefined;
  return { interface: offered, binding: given.binding, version, url };
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
