import { type AgentCard, type AgentInterface, LegateError } from '../protocol/index.ts';
import type { ClientBinding } from './binding.ts';
import type { BindingName, ClientOptions } from './options.ts';

export type SpokenVersion = '1.0' | '0.3';

/**
 * The interface, binding and version that a client uses.
 * @example
 * const chosen: ChosenInterface = chooseInterface(card, { version: '1.0' });
 * console.log(`${chosen.binding} at ${chosen.url.host}`); // 'JSONRPC at agent.example'
 */
export interface ChosenInterface {
  readonly interface: AgentInterface;
  readonly binding: BindingName;
  readonly version: SpokenVersion;
  /** The URL of the interface; for a custom binding, the result of its `locate`. */
  readonly url: URL;
}

/** The client options of the same names. */
export interface InterfacePreference {
  readonly binding?: ClientOptions['binding'] | undefined;
  readonly version?: ClientOptions['version'] | undefined;
  readonly bindings?: readonly ClientBinding[] | undefined;
}

/**
 * Selects the interface to call: of the newest supported version, the first in the card's order (8.3.2),
 * or the first of the preferred binding. An older version is used only if the card offers no newer one,
 * or on request.
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

/** The patch is never negotiated. For this client, 0.2 and 0.3 don't differ. */
function spokenVersion(declared: string): SpokenVersion | undefined {
  if (/^1\.0(\.|$)/.test(declared)) return '1.0';
  return /^0\.[23](\.|$)/.test(declared) ? '0.3' : undefined;
}

/** Excludes addresses with a user and a password, which would appear in logs. */
export function isCallable(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
